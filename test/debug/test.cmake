# Steps into a kernel with gdb, as README tells, from a folder that is not the project's: breakpoints on a kernel and
# on a line of it are hit, its source is found, and so are CUDA's variables. These are calls of functions,
# which Debian 12's gdb cannot make where the processor has AMX: it cannot write such registers back.
#
#   cmake -DGDB=<gdb> -DPROGRAM=<step> -DRUNG=<shared_tiles.cuh> -P test.cmake

if(NOT GDB)
  message("SKIPPED: gdb is not installed; script/bootstrap --ci installs it")
  return()
endif()

set(text "float sum = 0;")  # of the kernel, behind the thread's number
file(READ "${RUNG}" source)
string(FIND "${source}" "${text}" place)
string(SUBSTRING "${source}" 0 ${place} before)
string(REGEX REPLACE "[^\n]" "" breaks "${before}")
string(LENGTH "${breaks}" line)
math(EXPR line "${line} + 1")

get_filename_component(file "${RUNG}" NAME)
execute_process(
  COMMAND "${GDB}" -nx -batch -ex "break shared_tiles::kernel" -ex run -ex "delete 1" -ex "break ${file}:${line}"
    -ex continue -ex "print thread" -ex list -ex "print threadIdx" -ex "print blockIdx"
    -ex continue -ex "print thread == threadIdx.x" -ex kill "${PROGRAM}"
  WORKING_DIRECTORY / OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(errors MATCHES "(Could not trace|Operation not permitted|Cannot PTRACE)")
  message("SKIPPED: programs must not be traced here: ${errors}")
  return()
endif()
set(shown "Breakpoint 1[^\n]*, [^\n]*shared_tiles::kernel<" "Breakpoint 2[^\n]*, [^\n]*shared_tiles::kernel<"
  "\\$1 = 0\n" "\n${line}[ \t]+${text}")
set(no_calls "Couldn't write extended state status")
if(NOT errors MATCHES "${no_calls}")
  list(APPEND shown "\\$2 = {x = 0, y = 0, z = 0}" "\\$3 = {x = 0, y = 0, z = 0}" "\\$4 = true")
endif()
foreach(expected IN LISTS shown)
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "gdb does not show `${expected}`:\n${output}\n${errors}")
  endif()
endforeach()
if(errors MATCHES "${no_calls}")
  message("SKIPPED: all is shown but CUDA's variables: this gdb makes no calls on this processor (${no_calls})")
endif()
