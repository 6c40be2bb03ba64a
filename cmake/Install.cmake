# find_package(lapidary) gives lapidary::machine, the emulated machine and the GPU, and lapidary_add_kernel.
include(CMakePackageConfigHelpers)

install(TARGETS lapidary_machine lapidary_kernel EXPORT lapidary)
install(TARGETS lapidary_program)
install(EXPORT lapidary NAMESPACE lapidary:: FILE lapidaryTargets.cmake DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/lapidary")

# What the program reads at run time (core/data_file.hpp): cards, lists of problems, what was measured and predicted of a
# card, machine code on record, mutants to be guessed, and optional rungs as programs with them saw them. What tests and
# pages alone are made of stays here.
file(GLOB data_files RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS
  data/*.csv data/shapes/*.txt results/compiled/*/*.ptx results/compiled/*/*.sass results/emulator/mutants.json)
file(GLOB receipts RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS results/*/calibration.json)
foreach(receipt IN LISTS receipts)
  cmake_path(GET receipt PARENT_PATH card)
  foreach(name IN ITEMS calibration counters kinds ladder predictions tensor times)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${card}/${name}.json")
      list(APPEND data_files ${card}/${name}.json)
    endif()
  endforeach()
endforeach()
file(STRINGS src/kernels/ladder.def optional REGEX "^LAPIDARY_OPTIONAL_RUNG")
foreach(line IN LISTS optional)
  string(REGEX REPLACE "^[^(]*\\([a-z0-9_]+, ([a-z0-9_]+),.*$" "results/emulator/\\1.json" record "${line}")
  list(APPEND data_files ${record})
endforeach()
foreach(file IN LISTS data_files)
  cmake_path(GET file PARENT_PATH folder)
  install(FILES ${file} DESTINATION "${CMAKE_INSTALL_DATADIR}/lapidary/${folder}")
endforeach()

# The public headers, and those that they include.
install(DIRECTORY include/lapidary DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
foreach(room IN ITEMS core layout ptx emulator device)
  install(DIRECTORY src/${room} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lapidary/src" FILES_MATCHING PATTERN "*.hpp")
endforeach()

# What the program compiles a user's CUDA against.
install(DIRECTORY src/trial/cuda DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lapidary/src/trial")

set(LAPIDARY_CUDA_BUILT OFF)
if(CMAKE_CUDA_COMPILER)
  set(LAPIDARY_CUDA_BUILT ON)
endif()
configure_package_config_file(cmake/lapidaryConfig.cmake.in lapidaryConfig.cmake
  INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/lapidary")
write_basic_package_version_file(lapidaryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/lapidaryConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/lapidaryConfigVersion.cmake"
  cmake/LapidaryKernels.cmake
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/lapidary")
