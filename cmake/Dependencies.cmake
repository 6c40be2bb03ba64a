# Debian's packages where they are installed; otherwise the same libraries, at fixed versions, from their sources.
include(FetchContent)

find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS context)

function(lapidary_dependency name repository tag)
  FetchContent_Declare(${name} GIT_REPOSITORY https://github.com/${repository} GIT_TAG ${tag} GIT_SHALLOW ON
    FIND_PACKAGE_ARGS ${ARGN})
  FetchContent_MakeAvailable(${name})
endfunction()

lapidary_dependency(fmt fmtlib/fmt 9.1.0 9)
lapidary_dependency(CLI11 CLIUtils/CLI11 v2.1.2 2)
lapidary_dependency(nlohmann_json nlohmann/json v3.11.2 3)
if(LAPIDARY_TESTS)
  lapidary_dependency(googletest google/googletest release-1.12.1 NAMES GTest)
  lapidary_dependency(benchmark google/benchmark v1.7.1)
endif()
