# SPDX-License-Identifier: Apache-2.0
# What CPack makes, in the build folder: cpack -G DEB, a Debian package that depends on the libraries which the program
# was linked with, and cpack -G TGZ, an archive that runs from any folder where those libraries are.
set(CPACK_PACKAGE_NAME stepcast)
set(CPACK_PACKAGE_VENDOR "stepcast")
set(CPACK_PACKAGE_CONTACT "The maintainers of stepcast")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)

# The licence, and those of what the program is compiled with.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
              ${PROJECT_SOURCE_DIR}/simulator/pages/parts/d3_licence.txt
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/scripts/third_party_notices.txt
        DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
