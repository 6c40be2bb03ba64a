# The sources of the rungs as C++ (kernels/sources.hpp), or their hashes. A script:
#
#   cmake -DROOT=<folder of kernels/> -P RungSources.cmake            prints a line for each rung: its name and its hash
#   cmake -DROOT=... -DOUTPUT=<file.cpp> -DDEPFILE=<file> -P ...      writes texts and hashes, and what they were read from
#
# The hash of a rung is that of its file and of all that it includes, without comments and spacing, and without the
# emulated machine, which nvcc never sees: it tells whether a record of machine code is of this source.
cmake_minimum_required(VERSION 3.25)

# What a file includes of this project, and its text without comments and spacing: once for each file.
macro(read_once path)
  if(NOT DEFINED "includes_of_${path}")
    file(READ "${ROOT}/${path}" code)
    string(REGEX REPLACE "//[^\n]*" "" code "${code}")
    set("includes_of_${path}" "")
    string(REGEX MATCHALL "\n[ \t]*#[ \t]*include[ \t]*\"[^\"]+\"" lines "\n${code}")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[^\"]*\"([^\"]+)\"$" "\\1" include "${line}")
      list(APPEND "includes_of_${path}" "${include}")
    endforeach()
    string(REGEX REPLACE "[ \t\n]+" " " "code_of_${path}" "${code}")
    list(APPEND all_files "${ROOT}/${path}")
  endif()
endmacro()

file(STRINGS "${ROOT}/kernels/ladder.def" rungs REGEX "^LAPIDARY_(OPTIONAL_)?RUNG")
set(all_files "${ROOT}/kernels/ladder.def")
set(texts)
set(hashes)
foreach(rung IN LISTS rungs)
  string(REGEX MATCH "\\(([a-z0-9_]+), ([a-z0-9_]+)" entry "${rung}")
  set(name "${CMAKE_MATCH_2}")
  set(file "kernels/${CMAKE_MATCH_1}/${name}.cuh")
  set(found)
  set(waiting "${file}")
  while(waiting)
    list(POP_FRONT waiting path)
    if(path IN_LIST found OR path MATCHES "^emulator/")
      continue()
    endif()
    list(APPEND found "${path}")
    read_once("${path}")
    list(APPEND waiting ${includes_of_${path}})
  endwhile()
  list(SORT found)
  set(code)
  foreach(path IN LISTS found)
    string(APPEND code "${code_of_${path}}")
  endforeach()
  string(SHA256 hash "${code}")
  string(SUBSTRING "${hash}" 0 16 hash)
  if(OUTPUT)
    file(READ "${ROOT}/${file}" text)
    string(APPEND texts "  if (name == \"${name}\") return R\"source(${text})source\";\n")
    string(APPEND hashes "  if (name == \"${name}\") return \"${hash}\";\n")
  else()
    execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "${name} ${hash}")
  endif()
endforeach()

if(OUTPUT)
  string(CONCAT source "#include \"kernels/sources.hpp\"\n\nnamespace lapidary {\n\n"
    "std::string_view rung_source(std::string_view name) {\n${texts}  return {};\n}\n\n"
    "std::string_view rung_source_hash(std::string_view name) {\n${hashes}  return {};\n}\n\n}  // namespace lapidary\n")
  file(WRITE "${OUTPUT}" "${source}")
  # As make reads it.
  list(TRANSFORM all_files REPLACE "([ #])" "\\\\\\1")
  list(TRANSFORM all_files REPLACE "[$]" "$$")
  list(JOIN all_files " \\\n  " all_files)
  string(REGEX REPLACE "([ #])" "\\\\\\1" target "${OUTPUT}")
  file(WRITE "${DEPFILE}" "${target}: ${all_files}\n")
endif()
