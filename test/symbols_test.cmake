# The linker keeps one of equal symbols. If a function that touches memory were defined by the plain and by the
# instrumented kernels, one build would lose its counts to the other. Both may define the following and nothing else, all of
# it for launchers on the host: functions of the standard library, and the project's exceptions.
#
# Nor may a template argument that is a value of a class have a part that is const: gcc tells such an argument from the
# same value without it, nvcc does not, and a kernel of that name is not found when it is launched.
#
#   cmake -DNM=... "-DPLAIN=<objects>" "-DINSTRUMENTED=<objects>" -P symbols_test.cmake
cmake_minimum_required(VERSION 3.25)

function(defined_symbols result)
  execute_process(COMMAND "${NM}" --extern-only --defined-only --format=posix ${ARGN}
    OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${listing}")
  list(FILTER lines EXCLUDE REGEX ":$")
  list(TRANSFORM lines REPLACE " .*" "")
  list(REMOVE_DUPLICATES lines)
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

defined_symbols(plain ${PLAIN})
defined_symbols(instrumented ${INSTRUMENTED})
foreach(build IN ITEMS plain instrumented)
  if(NOT "${${build}}" MATCHES "lapidary[0-9]*${build}[0-9]*naive[0-9]*kernel")
    message(FATAL_ERROR "the ${build} objects do not define the kernel of naive")
  endif()
endforeach()

foreach(symbol IN LISTS plain instrumented)
  if("${symbol}" MATCHES "tlKN8lapidary|tlKNS[0-9]*_")
    message(FATAL_ERROR "a template argument has a const part (kernels/wgmma/built.hpp, of_numbers):\n  ${symbol}")
  endif()
endforeach()

set(standard "_ZT?[ISVZ]?N?K?S[tabdios]")
set(exceptions "_ZT?[ISV]?N8lapidary[0-9]+(Error|InvalidArgument|KernelFault|DeviceError)(D[012]Ev|E$)")
set(both)
foreach(symbol IN LISTS plain)
  if("${symbol}" IN_LIST instrumented AND NOT "${symbol}" MATCHES "^(${standard}|${exceptions}|DW\\.ref\\.|__clang_call_terminate)")
    list(APPEND both "${symbol}")
  endif()
endforeach()
if(both)
  list(JOIN both "\n  " both)
  message(FATAL_ERROR "defined by plain and instrumented kernels alike:\n  ${both}")
endif()
