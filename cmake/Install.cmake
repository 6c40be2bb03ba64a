# find_package(lapidary) gives lapidary::machine, the emulated machine and the GPU, and lapidary_add_kernel.
include(CMakePackageConfigHelpers)

install(TARGETS lapidary_machine lapidary_kernel EXPORT lapidary)
install(TARGETS lapidary_program)
install(EXPORT lapidary NAMESPACE lapidary:: FILE lapidaryTargets.cmake DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/lapidary")

# What the program reads at run time (core/data_file.hpp).
install(DIRECTORY data results DESTINATION "${CMAKE_INSTALL_DATADIR}/lapidary")

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
