# find_package(lapidary) gives lapidary::lapidary, the library with gemm(); lapidary::machine, the emulated machine and the
# GPU; and lapidary_add_kernel.
include(CMakePackageConfigHelpers)

install(TARGETS lapidary_machine lapidary_kernel lapidary_shared EXPORT lapidary)
configure_file(cmake/lapidary.pc.in lapidary.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/lapidary.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(TARGETS lapidary_program)
install(EXPORT lapidary NAMESPACE lapidary:: FILE lapidaryTargets.cmake DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/lapidary")

# What the program reads at run time (core/data_file.hpp): cards, lists of problems, what was measured and predicted of a
# card, machine code on record, mutants to be guessed, and optional rungs as programs with them saw them. What tests and
# pages alone are made of stays here.
file(GLOB data_files RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS
  data/*.csv data/shapes/*.txt results/compiled/*/*.ptx results/compiled/*/*.sass results/emulator/mutants.json)
foreach(name IN ITEMS calibration counters kinds ladder predictions tensor times)
  file(GLOB of_cards RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS results/*/${name}.json)
  list(APPEND data_files ${of_cards})
endforeach()
list(REMOVE_ITEM data_files results/emulator/ladder.json)
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
  install(DIRECTORY src/${room} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lapidary/src"
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def")
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

# cpack -G DEB makes a package of what is installed.
set(CPACK_PACKAGE_NAME lapidary)
set(CPACK_PACKAGE_CONTACT "the authors of Lapidary <lapidary@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES OFF)  # counts by line need the lines of kernels
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
find_program(LAPIDARY_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(LAPIDARY_SHLIBDEPS)
if(LAPIDARY_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
