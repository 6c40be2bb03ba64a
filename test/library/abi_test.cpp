// What programs that were compiled with an earlier lapidary.h count on: sizes of structs and enumerations, where
// members lie, values of enumerators, and how functions are declared, are those on record (abi.txt). So are sizes and
// members of what gemm.hpp passes between a program and the library.
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

#include "lapidary/gemm.hpp"
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
    VALUE(LAPIDARY_SUCCESS),
    VALUE(LAPIDARY_INVALID_ARGUMENT),
    VALUE(LAPIDARY_DEVICE_ERROR),
    VALUE(LAPIDARY_KERNEL_FAULT),
    VALUE(LAPIDARY_OUT_OF_MEMORY),
    VALUE(LAPIDARY_INTERNAL_ERROR),
    VALUE(LAPIDARY_F32),
    VALUE(LAPIDARY_F16),
    VALUE(LAPIDARY_BF16),
    VALUE(LAPIDARY_TF32),
    VALUE(LAPIDARY_E4M3),
    VALUE(LAPIDARY_S8),
    VALUE(LAPIDARY_S32),
    VALUE(LAPIDARY_E5M2),
    VALUE(LAPIDARY_F64),
    VALUE(LAPIDARY_GPU),
    VALUE(LAPIDARY_EMULATED),
    VALUE(LAPIDARY_CHECKED),
    VALUE(LAPIDARY_NO_BIAS),
    VALUE(LAPIDARY_BIAS_OF_COLUMNS),
    VALUE(LAPIDARY_BIAS_OF_ROWS),
    VALUE(LAPIDARY_NO_ACTIVATION),
    VALUE(LAPIDARY_RELU),
    VALUE(LAPIDARY_GELU_ERF),
    VALUE(LAPIDARY_GELU_TANH),
    VALUE(LAPIDARY_SILU),
    VALUE(LAPIDARY_A),
    VALUE(LAPIDARY_B),
};

const Known sizes[] = {
    SIZE(lapidary_status),     SIZE(lapidary_type),    SIZE(lapidary_device),   SIZE(lapidary_bias),
    SIZE(lapidary_activation), SIZE(lapidary_matrix),  SIZE(lapidary_epilogue), SIZE(lapidary_options),
    SIZE(lapidary_list),       SIZE(lapidary_operand), SIZE(lapidary_operands), SIZE(lapidary_plan_info),
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
    MEMBER(lapidary_options, prepared_a),
    MEMBER(lapidary_options, prepared_b),
    MEMBER(lapidary_options, table),
    MEMBER(lapidary_operands, size),
    MEMBER(lapidary_operands, A),
    MEMBER(lapidary_operands, B),
    MEMBER(lapidary_operands, C),
    MEMBER(lapidary_operands, D),
    MEMBER(lapidary_operands, prepared_a),
    MEMBER(lapidary_operands, prepared_b),
    MEMBER(lapidary_operands, bias),
    MEMBER(lapidary_operands, residual),
    MEMBER(lapidary_operands, scale),
    MEMBER(lapidary_operands, limits),
    MEMBER(lapidary_operands, device_alpha),
    MEMBER(lapidary_operands, device_beta),
    MEMBER(lapidary_operands, group_ends),
    MEMBER(lapidary_plan_info, size),
    MEMBER(lapidary_plan_info, id),
    MEMBER(lapidary_plan_info, card),
    MEMBER(lapidary_plan_info, kernel),
    MEMBER(lapidary_plan_info, why),
    MEMBER(lapidary_plan_info, seconds),
    MEMBER(lapidary_plan_info, workspace_bytes),
    MEMBER(lapidary_plan_info, prepared_a_bytes),
    MEMBER(lapidary_plan_info, prepared_b_bytes),
    MEMBER(lapidary_plan_info, packs_a),
    MEMBER(lapidary_plan_info, packs_b),
    MEMBER(lapidary_plan_info, finishes),
    MEMBER(lapidary_plan_info, batch_invariant),
    MEMBER(lapidary_plan_info, error_products),
    MEMBER(lapidary_plan_info, error_addend),
    MEMBER(lapidary_plan_info, error_rounding),
    MEMBER(lapidary_plan_info, error_least),
    MEMBER(lapidary_plan_info, parts),
    MEMBER(lapidary_plan_info, waits),
    MEMBER(lapidary_list, size),
    MEMBER(lapidary_list, count),
    MEMBER(lapidary_list, A),
    MEMBER(lapidary_list, B),
    MEMBER(lapidary_list, C),
    MEMBER(lapidary_list, D),
    MEMBER(lapidary_list, bias),
    MEMBER(lapidary_list, residual),
};

// Of those with members of std, which are as libstdc++ has them, offsetof() is not said to be right.
#define OF_CPP(type, member) known_member(#type "::" #member, &lapidary::type::member)
template <class Struct, class Member>
Known known_member(const char* name, Member Struct::*member) {
  static const Struct of = {};
  const auto* const begin = reinterpret_cast<const char*>(&of);
  return {name, reinterpret_cast<const char*>(&(of.*member)) - begin, sizeof(Member)};
}
#define SIZE_OF_CPP(type) Known(#type, sizeof(lapidary::type))

std::vector<Known> cpp_sizes() {
  return {
      SIZE_OF_CPP(Problem),        SIZE_OF_CPP(GemmKind),    SIZE_OF_CPP(Alignments), SIZE_OF_CPP(Batch),
      SIZE_OF_CPP(Epilogue),       SIZE_OF_CPP(Operands),    SIZE_OF_CPP(MatrixView), SIZE_OF_CPP(ConstMatrixView),
      SIZE_OF_CPP(PackedOperands), SIZE_OF_CPP(GemmOptions), SIZE_OF_CPP(PlannedWay), SIZE_OF_CPP(ErrorBound),
      SIZE_OF_CPP(GemmEpilogue),   SIZE_OF_CPP(Product),     SIZE_OF_CPP(GroupEnds),  SIZE_OF_CPP(Stream),
      SIZE_OF_CPP(Scalar),         SIZE_OF_CPP(Plan),        SIZE_OF_CPP(Context),    SIZE_OF_CPP(ChoiceTable),
      SIZE_OF_CPP(Type),           SIZE_OF_CPP(Order),       SIZE_OF_CPP(Matrix),     SIZE_OF_CPP(Factor),
      SIZE_OF_CPP(Activation),     SIZE_OF_CPP(Bias),        SIZE_OF_CPP(Scaling),    SIZE_OF_CPP(DeviceBuffer),
  };
}
std::vector<Known> cpp_offsets() {
  return {
      OF_CPP(Problem, kind),
      OF_CPP(Problem, M),
      OF_CPP(Problem, N),
      OF_CPP(Problem, K),
      OF_CPP(Problem, lda),
      OF_CPP(Problem, ldb),
      OF_CPP(Problem, ldc),
      OF_CPP(Problem, ldd),
      OF_CPP(Problem, ldr),
      OF_CPP(Problem, alpha),
      OF_CPP(Problem, beta),
      OF_CPP(Problem, in_place),
      OF_CPP(Problem, aligned),
      OF_CPP(Problem, order_d),
      OF_CPP(Problem, batch),
      OF_CPP(Problem, groups),
      OF_CPP(Problem, epilogue),
      OF_CPP(Problem, scaling),
      OF_CPP(Problem, split),
      OF_CPP(GemmKind, type),
      OF_CPP(GemmKind, result),
      OF_CPP(GemmKind, a),
      OF_CPP(GemmKind, b),
      OF_CPP(Alignments, A),
      OF_CPP(Alignments, B),
      OF_CPP(Alignments, C),
      OF_CPP(Alignments, D),
      OF_CPP(Batch, count),
      OF_CPP(Batch, stride_a),
      OF_CPP(Batch, stride_b),
      OF_CPP(Batch, stride_c),
      OF_CPP(Batch, stride_d),
      OF_CPP(Batch, stride_residual),
      OF_CPP(Epilogue, bias),
      OF_CPP(Epilogue, activation),
      OF_CPP(Epilogue, scale),
      OF_CPP(Epilogue, residual),
      OF_CPP(Epilogue, clamp),
      OF_CPP(Operands, A),
      OF_CPP(Operands, B),
      OF_CPP(Operands, C),
      OF_CPP(Operands, D),
      OF_CPP(Operands, alpha),
      OF_CPP(Operands, beta),
      OF_CPP(Operands, device_alpha),
      OF_CPP(Operands, device_beta),
      OF_CPP(Operands, bias),
      OF_CPP(Operands, residual),
      OF_CPP(Operands, prepared_a),
      OF_CPP(Operands, prepared_b),
      OF_CPP(Operands, scale),
      OF_CPP(Operands, low),
      OF_CPP(Operands, high),
      OF_CPP(Operands, group_ends),
      OF_CPP(MatrixView, data),
      OF_CPP(MatrixView, type),
      OF_CPP(MatrixView, rows),
      OF_CPP(MatrixView, cols),
      OF_CPP(MatrixView, row_stride),
      OF_CPP(MatrixView, col_stride),
      OF_CPP(MatrixView, count),
      OF_CPP(MatrixView, batch_stride),
      OF_CPP(ConstMatrixView, data),
      OF_CPP(ConstMatrixView, type),
      OF_CPP(ConstMatrixView, rows),
      OF_CPP(ConstMatrixView, cols),
      OF_CPP(ConstMatrixView, row_stride),
      OF_CPP(ConstMatrixView, col_stride),
      OF_CPP(ConstMatrixView, count),
      OF_CPP(ConstMatrixView, batch_stride),
      OF_CPP(PackedOperands, a),
      OF_CPP(PackedOperands, b),
      OF_CPP(GemmOptions, workspace_bytes),
      OF_CPP(GemmOptions, batch_invariant),
      OF_CPP(GemmOptions, fast_accumulation),
      OF_CPP(GemmOptions, kernel),
      OF_CPP(GemmOptions, packs),
      OF_CPP(GemmOptions, prepared),
      OF_CPP(GemmOptions, table),
      OF_CPP(PlannedWay, kernel),
      OF_CPP(PlannedWay, packs_a),
      OF_CPP(PlannedWay, packs_b),
      OF_CPP(PlannedWay, workspace_bytes),
      OF_CPP(PlannedWay, seconds),
      OF_CPP(PlannedWay, limiter),
      OF_CPP(PlannedWay, finishes),
      OF_CPP(PlannedWay, prepared),
      OF_CPP(PlannedWay, waits),
      OF_CPP(PlannedWay, parts),
      OF_CPP(ErrorBound, products),
      OF_CPP(ErrorBound, addend),
      OF_CPP(ErrorBound, rounding),
      OF_CPP(ErrorBound, least),
      OF_CPP(GemmEpilogue, bias),
      OF_CPP(GemmEpilogue, bias_data),
      OF_CPP(GemmEpilogue, activation),
      OF_CPP(GemmEpilogue, scale),
      OF_CPP(GemmEpilogue, residual),
      OF_CPP(GemmEpilogue, clamp),
      OF_CPP(Product, problem),
      OF_CPP(Product, operands),
      OF_CPP(GroupEnds, data),
      OF_CPP(GroupEnds, count),
      OF_CPP(Stream, machine),
      OF_CPP(Stream, cuda),
  };
}

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
  text << "\nsizes in C++\n";
  write(cpp_sizes());
  text << "\noffsets and sizes in C++\n";
  write(cpp_offsets());

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
