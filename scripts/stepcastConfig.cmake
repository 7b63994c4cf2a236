# find_package(stepcast) gives stepcast::stepcast and stepcast::stepcast_backends.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(yaml-cpp)
find_dependency(nlohmann_json)
find_dependency(ZLIB)
find_dependency(TBB)
include("${CMAKE_CURRENT_LIST_DIR}/stepcastTargets.cmake")
