# SPDX-License-Identifier: Apache-2.0
# How sources are compiled together: a batch holds files of one folder, so that headers are read once a batch, and a
# file that comes or goes moves no file of another folder to another batch.
set(STEPCAST_BATCH_SIZE 24)  # files; larger ones save little more, and one changed file compiles them all again

function(stepcast_batches target)
  get_target_property(files ${target} SOURCES)
  list(FILTER files EXCLUDE REGEX "^\\$<")  # objects of another library are no files of this one
  foreach(file ${files})
    get_filename_component(folder ${file} DIRECTORY)
    string(MAKE_C_IDENTIFIER "batch_${folder}" batch)
    if(NOT DEFINED files_of_${batch})
      set(files_of_${batch} 0)
    endif()
    math(EXPR part "${files_of_${batch}} / ${STEPCAST_BATCH_SIZE}")
    math(EXPR files_of_${batch} "${files_of_${batch}} + 1")
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${batch}_${part})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()
