# find_package(lapidary) gives lapidary::lapidary, the library with gemm(). Where C++ is enabled, and Boost.Context and
# fmt are found, it gives what is linked with them, too: lapidary::lapidary_static; lapidary::machine, the emulated
# machine and the GPU; and lapidary_add_kernel.
include(CMakePackageConfigHelpers)

install(TARGETS lapidary_kernel lapidary_shared EXPORT lapidary)
install(TARGETS lapidary_machine lapidary_static EXPORT lapidary_static)
install(TARGETS lapidary_program)
install(EXPORT lapidary NAMESPACE lapidary:: FILE lapidaryTargets.cmake DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/lapidary")
install(EXPORT lapidary_static NAMESPACE lapidary:: FILE lapidaryStaticTargets.cmake
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/lapidary")
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DATADIR}/lapidary")

# Says where it is by where its file is: packages are unpacked elsewhere than it is configured for.
cmake_path(SET to_prefix NORMALIZE "${CMAKE_INSTALL_PREFIX}")
set(pkgconfig_folder "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
cmake_path(ABSOLUTE_PATH pkgconfig_folder BASE_DIRECTORY "${to_prefix}" OUTPUT_VARIABLE from)
cmake_path(RELATIVE_PATH to_prefix BASE_DIRECTORY "${from}")
set(lapidary "-llapidary")
# By a module of its own, not by --static: fmt has no archive on Debian.
set(lapidary_static "-l:liblapidary.a -l:liblapidary_machine.a -lfmt -lboost_context -lstdc++ -lm -lpthread -ldl")
if(CMAKE_CUDA_COMPILER)
  string(APPEND lapidary_static " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt")
endif()
foreach(module IN ITEMS lapidary lapidary_static)
  set(libraries "${${module}}")
  configure_file(cmake/lapidary.pc.in ${module}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${module}.pc" DESTINATION "${pkgconfig_folder}")
endforeach()

# What the program reads at run time (core/data_file.hpp): cards, lists of problems, what was measured and predicted of a
# card, machine code on record, mutants to be guessed, and optional rungs as programs with them saw them. What tests and
# pages alone are made of stays here.
file(GLOB data_files RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS
  data/*.csv data/shapes/*.txt results/compiled/*/*.ptx results/compiled/*/*.sass results/emulator/mutants.json)
foreach(name IN ITEMS calibration counters f32 kinds ladder power predictions tensor times)
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
foreach(room IN ITEMS core layout ptx emulator device tile kernels)
  install(DIRECTORY src/${room} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lapidary/src"
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh" PATTERN "*.def")
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
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, libboost-context-dev, libfmt-dev")  # for kernels of one's own, and the archives
find_program(LAPIDARY_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(LAPIDARY_SHLIBDEPS)
if(LAPIDARY_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
