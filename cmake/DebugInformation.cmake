# Of debug information lines of kernels are looked up, by addr2line, which reads compressed sections too.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,--compress-debug-sections=zlib LAPIDARY_LINKER_COMPRESSES)

# A program or a shared library with kernels in it: of the library a third was debug information.
function(lapidary_compress_debug_information target)
  if(LAPIDARY_LINKER_COMPRESSES AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_link_options(${target} PRIVATE -Wl,--compress-debug-sections=zlib)
  endif()
endfunction()

# Puts a shared library's into a file beside it, to which the library has a link: <library>.debug. addr2line and gdb read
# it from there, and whoever needs no lines leaves it out.
function(lapidary_split_debug_information target)
  if(NOT CMAKE_OBJCOPY OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
  endif()
  set(library "$<TARGET_FILE:${target}>")
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND "${CMAKE_OBJCOPY}" --only-keep-debug "${library}" "${library}.debug"
    COMMAND "${CMAKE_OBJCOPY}" --strip-debug "--add-gnu-debuglink=${library}.debug" "${library}"
    VERBATIM)
  install(FILES "${library}.debug" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endfunction()
