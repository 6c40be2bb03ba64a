# Of debug information lines of kernels are looked up, by addr2line, which reads compressed sections too.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,--compress-debug-sections=zlib LAPIDARY_LINKER_COMPRESSES)

# A program or a shared library with kernels in it: of the library a third was debug information.
function(lapidary_compress_debug_information target)
  if(LAPIDARY_LINKER_COMPRESSES AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_link_options(${target} PRIVATE -Wl,--compress-debug-sections=zlib)
  endif()
endfunction()
