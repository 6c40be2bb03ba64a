#include "bench/cublas_lt.hpp"

#include <dlfcn.h>

#include <optional>
#include <string>
#include <type_traits>

namespace lapidary::bench {
namespace {

std::optional<CublasLt> load() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen((LAPIDARY_CUBLAS_FOLDER "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::nullopt;
  CublasLt functions{};
  bool all = true;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    all = all && function;
  };
#define LAPIDARY_FIND(name) find(functions.name, "cublasLt" #name);
  LAPIDARY_FUNCTIONS_OF_CUBLASLT(LAPIDARY_FIND)
#undef LAPIDARY_FIND
  return all ? std::optional(functions) : std::nullopt;
}

}  // namespace

const CublasLt* CublasLt::loaded() {
  static const std::optional<CublasLt> found = load();
  return found ? &*found : nullptr;
}

}  // namespace lapidary::bench
