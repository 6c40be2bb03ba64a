// What programs that were compiled with an earlier lapidary.h count on: sizes of structs and enumerations, where
// members lie, values of enumerators, and how functions are declared, are those on record (abi.txt).
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lapidary/lapidary.h"

namespace {

struct Known {
  Known(const char* name_, long long value_, std::size_t size_ = 0) : name(name_), value(value_), size(size_) {}

  std::string name;
  long long value;   ///< of members where they begin
  std::size_t size;  ///< of members
};

#define VALUE(name) Known(#name, name)
#define SIZE(type) Known(#type, sizeof(type))
#define MEMBER(type, member) Known(#type "." #member, offsetof(type, member), sizeof(type::member))

const Known enumerators[] = {
    VALUE(LAPIDARY_SUCCESS),       VALUE(LAPIDARY_INVALID_ARGUMENT),
    VALUE(LAPIDARY_DEVICE_ERROR),  VALUE(LAPIDARY_KERNEL_FAULT),
    VALUE(LAPIDARY_OUT_OF_MEMORY), VALUE(LAPIDARY_INTERNAL_ERROR),
    VALUE(LAPIDARY_F32),           VALUE(LAPIDARY_F16),
    VALUE(LAPIDARY_BF16),          VALUE(LAPIDARY_TF32),
    VALUE(LAPIDARY_E4M3),          VALUE(LAPIDARY_S8),
    VALUE(LAPIDARY_S32),           VALUE(LAPIDARY_E5M2),
    VALUE(LAPIDARY_F64),           VALUE(LAPIDARY_GPU),
    VALUE(LAPIDARY_EMULATED),      VALUE(LAPIDARY_CHECKED),
    VALUE(LAPIDARY_NO_BIAS),       VALUE(LAPIDARY_BIAS_OF_COLUMNS),
    VALUE(LAPIDARY_BIAS_OF_ROWS),  VALUE(LAPIDARY_NO_ACTIVATION),
    VALUE(LAPIDARY_RELU),          VALUE(LAPIDARY_GELU_ERF),
    VALUE(LAPIDARY_GELU_TANH),     VALUE(LAPIDARY_SILU),
};

const Known sizes[] = {
    SIZE(lapidary_status),   SIZE(lapidary_type),       SIZE(lapidary_device),
    SIZE(lapidary_bias),     SIZE(lapidary_activation), SIZE(lapidary_matrix),
    SIZE(lapidary_epilogue), SIZE(lapidary_options),    SIZE(lapidary_list),
};

const Known offsets[] = {
    MEMBER(lapidary_matrix, data),
    MEMBER(lapidary_matrix, type),
    MEMBER(lapidary_matrix, rows),
    MEMBER(lapidary_matrix, cols),
    MEMBER(lapidary_matrix, row_stride),
    MEMBER(lapidary_matrix, col_stride),
    MEMBER(lapidary_matrix, count),
    MEMBER(lapidary_matrix, batch_stride),
    MEMBER(lapidary_epilogue, size),
    MEMBER(lapidary_epilogue, bias),
    MEMBER(lapidary_epilogue, bias_data),
    MEMBER(lapidary_epilogue, activation),
    MEMBER(lapidary_epilogue, scales),
    MEMBER(lapidary_epilogue, scale),
    MEMBER(lapidary_epilogue, residual),
    MEMBER(lapidary_epilogue, clamps),
    MEMBER(lapidary_epilogue, low),
    MEMBER(lapidary_epilogue, high),
    MEMBER(lapidary_epilogue, alpha),
    MEMBER(lapidary_epilogue, beta),
    MEMBER(lapidary_options, size),
    MEMBER(lapidary_options, workspace_bytes),
    MEMBER(lapidary_options, no_workspace),
    MEMBER(lapidary_options, batch_invariant),
    MEMBER(lapidary_options, fast_accumulation),
    MEMBER(lapidary_options, kernel),
    MEMBER(lapidary_options, epilogue),
    MEMBER(lapidary_list, size),
    MEMBER(lapidary_list, count),
    MEMBER(lapidary_list, A),
    MEMBER(lapidary_list, B),
    MEMBER(lapidary_list, C),
    MEMBER(lapidary_list, D),
    MEMBER(lapidary_list, bias),
    MEMBER(lapidary_list, residual),
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// lapidary.h without comments, directives and functions with a body, each run of blanks one blank.
std::string header() {
  std::string text = text_of(LAPIDARY_SOURCE_DIR "/include/lapidary/lapidary.h");
  for (const char* const gone :
       {R"(/\*([^*]|\*[^/])*\*/)", R"(#[^\n]*\n)", R"(extern "C" \{)", R"(static inline[^{]*\{[^}]*\})"})
    text = std::regex_replace(text, std::regex(gone), " ");
  return std::regex_replace(text, std::regex(R"(\s+)"), " ");
}

std::vector<std::string> found_in(const std::string& text, const std::string& pattern, std::size_t group = 1) {
  const std::regex expression(pattern);
  std::vector<std::string> all;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
    all.push_back((*at)[group].str());
  return all;
}

TEST(Abi, IsThatOnRecord) {
  std::ostringstream text;
  const auto write = [&](const auto& list) {
    for (const Known& one : list)
      text << one.name << " " << one.value << (one.size ? " " + std::to_string(one.size) : "") << "\n";
  };
  write(enumerators);
  text << "\nsizes\n";
  write(sizes);
  text << "\noffsets and sizes\n";
  write(offsets);
  text << "\n";
  for (const std::string& function :
       found_in(header(), R"(((?:lapidary_status|void|int|const char\*) lapidary_\w+\([^)]*\));)"))
    text << function << "\n";

  const std::string path = LAPIDARY_SOURCE_DIR "/test/library/abi.txt";
  if (std::getenv("LAPIDARY_RENEW")) std::ofstream(path) << text.str();
  EXPECT_EQ(text.str(), text_of(path)) << "LAPIDARY_RENEW=1 writes " << path
                                       << " anew; what is gone or moved breaks programs";
}

TEST(Abi, IsOnRecordWhole) {
  const std::string text = header();
  std::set<std::string> declared, listed;
  for (const std::string& enumerator : found_in(text, R"((LAPIDARY_\w+) = )")) declared.insert(enumerator);
  for (const std::string& type : found_in(text, R"(typedef (?:enum|struct) (lapidary_\w+) \{)")) {
    declared.insert(type);
    for (const std::string& body : found_in(text, "struct " + type + R"( \{([^}]*)\})"))
      for (const std::string& member : found_in(body, R"((\w+)\s*[,;])")) declared.insert(type + "." + member);
  }
  for (const Known& one : enumerators) listed.insert(one.name);
  for (const Known& one : sizes) listed.insert(one.name);
  for (const Known& one : offsets) listed.insert(one.name);
  for (const std::string& name : declared) EXPECT_TRUE(listed.count(name)) << name << " is not on record";
  for (const std::string& name : listed) EXPECT_TRUE(declared.count(name)) << name << " is not found in lapidary.h";
}

}  // namespace
