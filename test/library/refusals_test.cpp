// Every rule of the catalogue is reached by a call that breaks it, which is told the rule, the value and what is legal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/batch.hpp"
#include "core/refusal.hpp"
#include "device/gpu_refusal.hpp"
#include "kernels/packing.hpp"
#include "kernels/registry.hpp"
#include "lapidary/gemm.hpp"
#include "lapidary/lapidary.h"
#include "library/cards.hpp"

namespace lapidary {
namespace {

constexpr Order row = Order::row_major, column = Order::column_major;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), large = std::int64_t{1} << 30;

/// A call that breaks a rule.
struct Case {
  RefusalId broken;
  std::string told;  ///< a part of the message
  std::function<void()> call;
};

/// What a C function refused, as an exception.
void of_c(lapidary_status status) {
  if (status == LAPIDARY_SUCCESS) return;
  EXPECT_EQ(status, LAPIDARY_INVALID_ARGUMENT) << lapidary_last_error();
  const auto id = std::find(std::begin(refusal_ids), std::end(refusal_ids), std::string_view(lapidary_last_refusal()));
  ASSERT_NE(id, std::end(refusal_ids)) << lapidary_last_refusal();
  throw Refusal(static_cast<RefusalId>(id - std::begin(refusal_ids)), lapidary_last_error());
}

class Refusals : public testing::Test {
 protected:
  using Change = void (*)(Problem&);

  void SetUp() override { ASSERT_EQ(lapidary_create(LAPIDARY_EMULATED, &c_context_), LAPIDARY_SUCCESS); }
  void TearDown() override { lapidary_destroy(c_context_); }

  static Problem problem_of(const GemmKind& kind, std::int64_t M, std::int64_t N, std::int64_t K) {
    return {.kind = kind, .M = M, .N = N, .K = K, .aligned = {16, 16, 16, 16}};
  }
  static const void* address(int matrix) { return reinterpret_cast<const void*>(std::uintptr_t{0x10000000} << matrix); }
  static void* place(int matrix) { return const_cast<void*>(address(matrix)); }

  /// plan() of a changed problem of f32, 4 x 5 x 6.
  static std::function<void()> planned(Change change, GemmOptions options = {}) {
    return planned(change, GemmKind(Type::f32), options);
  }
  static std::function<void()> planned(Change change, const GemmKind& kind, const GemmOptions& options = {},
                                       const char* card = "h200") {
    return [=] {
      Problem p = problem_of(kind, 4, 5, 6);
      change(p);
      plan(p, card, options);
    };
  }
  static void in_two_groups(Problem& p) { p.groups = 2; }
  /// Of two groups of f16.
  static std::function<void()> planned_groups(Change change) {
    return [=] {
      Problem p = problem_of({Type::f16, Type::f16}, 4, 5, 6);
      in_two_groups(p);
      change(p);
      plan(p, "h200");
    };
  }
  static std::function<void()> id(const char* text) {
    return [=] { plan_of(text); };
  }

  struct Views {
    ConstMatrixView A = row_major_view(address(0), Type::f32, 4, 6), B = row_major_view(address(1), Type::f32, 6, 5),
                    C = row_major_view(address(2), Type::f32, 4, 5);
    MatrixView D = row_major_view(place(3), Type::f32, 4, 5);
    GemmEpilogue epilogue = {};
  };
  /// product_of() of changed views, with a beta of 1.
  static std::function<void()> viewed(void (*change)(Views&)) {
    return [=] {
      Views v;
      change(v);
      product_of(1, v.A, v.B, 1, v.C, v.D, v.epilogue);
    };
  }

  static std::function<void()> viewed_groups(std::int64_t groups, void (*change)(Views&)) {
    return [=] {
      Views v;
      change(v);
      product_of_groups(1, v.A, v.B, 1, v.C, v.D, {nullptr, groups});
    };
  }

  /// run() of f32, 4 x 5 x 6, on changed operands, of a problem that is told nothing.
  std::function<void()> ran(
      void (*change)(Operands&), Change known = [](Problem&) {}) {
    return [=, this] {
      Problem p = {.M = 4, .N = 5, .K = 6, .alpha = Factor::any, .beta = Factor::any, .aligned = {4, 4, 4, 4}};
      known(p);
      Operands o = {address(0), address(1), address(2), place(3), 1, 1};
      change(o);
      context_.run(context_.plan(p), device_->stream(), o);
    };
  }

  /// run() of tf32, 128 x 256 x 64, in a workspace that is the memory of one of the operands, too.
  template <class T>
  std::function<void()> in_workspace(const T* Operands::*operand) {
    return [=, this] {
      Problem p = problem_of({Type::tf32, Type::f32}, 128, 256, 64);
      p.alpha = p.beta = Factor::in_device_memory;
      p.epilogue = {.bias = Bias::of_columns, .residual = true};
      const Operands o = {.A = address(0),
                          .B = address(1),
                          .C = address(2),
                          .D = place(3),
                          .device_alpha = static_cast<const float*>(address(6)),
                          .device_beta = static_cast<const float*>(address(7)),
                          .bias = address(4),
                          .residual = address(5)};
      context_.run(context_.plan(p), device_->stream(), o, const_cast<T*>(o.*operand));
    };
  }

  /// run() of two groups of f16, 8 x 8 x 8.
  std::function<void()> ran_groups(const void* ends, std::int64_t stride_b = 64, const void* b = address(1)) {
    return [=, this] {
      ConstMatrixView A = row_major_view(address(0), Type::f16, 8, 8), B = row_major_view(b, Type::f16, 8, 8);
      Product product = product_of_groups(1, A, B.batched(2, stride_b), 0, {},
                                          row_major_view(place(3), Type::f16, 8, 8),
                                          {static_cast<const std::int64_t*>(ends), 2});
      context_.run(context_.plan(product.problem), device_->stream(), product.operands);
    };
  }

  std::vector<Case> of_products();
  std::vector<Case> of_problems();
  std::vector<Case> of_operands();
  std::vector<Case> of_choices();
  std::vector<Case> of_machines();
  std::vector<Case> of_c_functions();

  std::unique_ptr<Device> device_ = open_emulator();
  Context context_{*device_};
  lapidary_context* c_context_ = nullptr;
};

std::vector<Case> Refusals::of_products() {
  using enum RefusalId;
  return {
      {groups_count, "there are 0 groups; there are 1 to 2147483647", viewed_groups(0, [](Views&) {})},
      {groups_matrices, "there are 7 matrices B; there must be 8, as of groups, or 1 for all",
       viewed_groups(8, [](Views& v) { v.B.count = 7; })},
      {groups_matrices, "there are 2 matrices D; there must be 1, of which groups have rows",
       viewed_groups(8, [](Views& v) { v.D.count = 2; })},
      {shape_size, "A is -1 x 6; sizes are 0 or more", viewed([](Views& v) { v.A.rows = -1; })},
      {shape_b, "B is 5 x 6; as A and D are it must be 6 x 5", viewed([](Views& v) { v.B = v.B.transposed(); })},
      {shape_c, "C is 1 x 5; as D is it must be 4 x 5", viewed([](Views& v) { v.C.rows = 1; })},
      {shape_d, "D is 5 x 5; as A and B are it must be 4 x 5", viewed([](Views& v) { v.D.rows = 5; })},
      {strides_lines, "A is 4 x 6 with strides 12 and 2; one of them must be 1", viewed([](Views& v) {
         v.A.row_stride = 12;
         v.A.col_stride = 2;
       })},
      {strides_order, "C has strides 1 and 4, D has 5 and 1; they must be of one order",
       viewed([](Views& v) { v.C = column_major_view(v.C.data, Type::f32, 4, 5); })},
      {type_value, "the element type of A has value 99; it must be f32, f16",
       viewed([](Views& v) { v.A.type = static_cast<Type>(99); })},
      {type_b, "A is of f32 and B of f16; they must be of one type", viewed([](Views& v) { v.B.type = Type::f16; })},
      {type_c, "C is of f16 and D of f32; they must be of one type", viewed([](Views& v) { v.C.type = Type::f16; })},
      {batch_matrices, "there are 2 matrices A; there must be 4, as of D, or 1 for all", viewed([](Views& v) {
         v.A = v.A.batched(2, 24);
         v.D = v.D.batched(4, 20);
       })},
      {batch_matrices, "there are 2 matrices C; there must be 1", viewed([](Views& v) { v.C = v.C.batched(2, 20); })},
      {batch_matrices, "there are 0 matrices D, 1 A and 1 B; there must be as many D as others, or of those 0 as well",
       viewed([](Views& v) { v.D = v.D.batched(0, 20); })},
      {shape_residual, "the residual is 1 x 5; as D is it must be 4 x 5",
       viewed([](Views& v) { v.epilogue.residual = row_major_view<const void>(address(4), Type::f32, 1, 5); })},
      {type_residual, "the residual is of f16 and D of f32; they must be of one type",
       viewed([](Views& v) { v.epilogue.residual = row_major_view<const void>(address(4), Type::f16, 4, 5); })},
      {strides_order, "the residual has strides 1 and 4, D has 5 and 1; they must be of one order",
       viewed([](Views& v) { v.epilogue.residual = column_major_view<const void>(address(4), Type::f32, 4, 5); })},
      {batch_matrices, "there are 2 matrices of the residual; there must be 1", viewed([](Views& v) {
         v.epilogue.residual = row_major_view<const void>(address(4), Type::f32, 4, 5).batched(2, 20);
       })},
  };
}

std::vector<Case> Refusals::of_problems() {
  using enum RefusalId;
  const GemmKind sums(Type::s8, Type::s32);
  return {
      {shape_size, "N is -3; sizes must be 0 or more", planned([](Problem& p) { p.N = -3; })},
      {shape_bytes, "A is 4 x 6 f32 with leading dimension 9223372036854775807; it must take less than 2^63 bytes",
       planned([](Problem& p) { p.lda = most; })},
      {shape_tiles, "D has 8388608 x 8388608 tiles of 128 x 128; this kernel numbers at most 2147482623",
       planned([](Problem& p) { p.M = p.N = large; })},
      {shape_copy, "1073741824 x 1073741824 elements are to be copied; copies have at most 2^31 - 1 tiles of 64 x 64",
       planned([](Problem& p) { p.N = p.K = large; }, {Type::tf32, Type::f32})},
      {ld_length, "lda is 5; a row of A has K = 6 elements, so it must be at least 6",
       planned([](Problem& p) { p.lda = 5; })},
      {type_value, "the element type of A and B has value 99; they must be of f32, f16, bf16, tf32, e4m3 or s8",
       planned([](Problem& p) { p.kind.type = static_cast<Type>(99); })},
      {type_value, "no element type is named 'f99'; there are f32, f16",
       planned([](Problem&) {}, {.kernel = "naive_32x32_f99"})},
      {type_value, "A and B are of s32; they must be of f32, f16, bf16, tf32, e4m3 or s8",
       planned([](Problem&) {}, {Type::s32, Type::s32})},
      {type_result, "C and D are of s8, A and B of s8; C and D must be of f32, f16 or bf16, or of s32",
       planned([](Problem&) {}, {Type::s8, Type::s8})},
      {type_result, "C and D are of s32, A and B of f16; C and D must be of f32, f16 or bf16",
       planned([](Problem&) {}, {Type::f16, Type::s32})},
      {value_unknown, "the order of D has value 7; values are 0 to 1",
       planned([](Problem& p) { p.order_d = static_cast<Order>(7); })},
      {alignment_value, "A is said to be aligned to 24 bytes; it must be a power of two, as in 16",
       planned([](Problem& p) { p.aligned.A = 24; })},
      {in_place_ld, "D is C, but ldc is 5 and ldd is 7; they must be equal", planned([](Problem& p) {
         p.beta = Factor::any;
         p.in_place = true;
         p.ldc = 5;
         p.ldd = 7;
       })},
      {in_place_stride, "D is C, and begins every 20 elements; C must as well, and does every 40",
       planned([](Problem& p) {
         p.beta = Factor::any;
         p.in_place = true;
         p.batch = {2, 0, 0, 40, 20};
       })},
      {batch_count, "there are -1 products in the batch; there are 0 or more",
       planned([](Problem& p) { p.batch.count = -1; })},
      {batch_stride, "A begins -1 elements after the one before; strides of batches are 0 or more",
       planned([](Problem& p) {
         p.batch = {2, -1, 0, 0, 20};
       })},
      {batch_stride, "the residual begins -5 elements after the one before", planned([](Problem& p) {
         p.epilogue.residual = true;
         p.batch = {2, 0, 0, 0, 20, -5};
       })},
      {factor_s32, "what is known of alpha is any number; where C and D are of s32 it must be 1",
       planned([](Problem& p) { p.alpha = Factor::any; }, sums)},
      {factor_s32, "alpha is 0; where", planned([](Problem& p) { p.alpha = Factor::zero; }, sums)},
      {factor_s32, "alpha is in device memory", planned([](Problem& p) { p.alpha = Factor::in_device_memory; }, sums)},
      {factor_s32, "beta is 1; where C and D are of s32 it must be 0",
       planned([](Problem& p) { p.beta = Factor::one; }, sums)},
      {epilogue_s32, "the epilogue is relu; where C and D are of s32 it must be none",
       planned([](Problem& p) { p.epilogue.activation = Activation::relu; }, sums)},
      {epilogue_s32, "the epilogue is residual; where", planned([](Problem& p) { p.epilogue.residual = true; }, sums)},
      {epilogue_text, "'relu+bias' is no epilogue; it is none, or of these in this order",
       [] { parse_epilogue("relu+bias"); }},
      {shape_tiles, "results are to be made in a second launch; it numbers at most 2^31 - 1 tiles of 32 x 128",
       planned([](Problem& p) {
         p.M = p.N = large;
         p.epilogue.activation = Activation::relu;
       })},
      {batch_bytes, "3 matrices B that begin every 9223372036854775807 elements take more than 2^63 bytes",
       planned([](Problem& p) {
         p.batch = {3, 0, most, 0, 20};
       })},
      {batch_overlap, "D begins 19 elements after the one before; results must not overlap: at least 20",
       planned([](Problem& p) {
         p.batch = {2, 0, 0, 0, 19};
       })},
      {groups_count, "there are -1 groups; there are 0 or more", planned([](Problem& p) { p.groups = -1; })},
      {groups_kind, "there are 2 groups of products, and they are of f32; A, B, C and D of groups must be all of f16",
       planned([](Problem& p) { p.groups = 2; })},
      {groups_kind, "they are of bf16/f32", planned(in_two_groups, {Type::bf16, Type::f32})},
      {groups_kind, "A is column-major; it must be row-major",
       planned(in_two_groups, {Type::f16, Type::f16, column, row})},
      {groups_kind, "C and D are column-major", planned_groups([](Problem& p) { p.order_d = column; })},
      {groups_kind, "3 in the batch; there must be 1", planned_groups([](Problem& p) {
         p.batch = {3, 24, 30, 20, 20};
       })},
      {groups_kind, "relu is to follow; nothing may",
       planned_groups([](Problem& p) { p.epilogue.activation = Activation::relu; })},
      {groups_kind, "beta is in device memory; it must be the host's",
       planned_groups([](Problem& p) { p.beta = Factor::in_device_memory; })},
      {groups_kind, "alpha is 0; it must be another number",
       planned_groups([](Problem& p) { p.alpha = Factor::zero; })},
      {groups_kind, "K is 0; it must be 1 or more", planned_groups([](Problem& p) { p.K = 0; })},
      {groups_operands, "N is 5; results that are stored in bulk are in multiples of 16 bytes, 8 elements",
       planned_groups([](Problem& p) { p.lda = p.ldb = 8; })},
      {batch_stride, "B begins -8 elements after the one before; the strides of those of groups are 0 or more",
       planned_groups([](Problem& p) { p.batch.stride_b = -8; })},
      {batch_bytes, "2 matrices B that begin every 9223372036854775807 elements take more than 2^63 bytes",
       planned_groups([](Problem& p) { p.batch.stride_b = most; })},
      {unsupported_groups, "there are 2 groups of products; this kernel does one product, whose M is known",
       [] {
         Problem p = problem_of({Type::f16, Type::f16, row, column}, 8, 8, 8);
         p.groups = 2;
         plan(p, "h200", {.kernel = "wgmma_overlapped_128x64x64_s8_c2x1_e2x64_f16-RC"});
       }},
      {unsupported_scaling, "A and B have scales", planned([](Problem& p) { p.scaling = Scaling::blocks; })},
      // In a batch, and of column-major results, too.
      {unsupported_split, "K is to be split in 4; kernels add up all of it in 1", planned([](Problem& p) {
         p.order_d = column;
         p.batch = {2, 0, 0, 0, 20};
         p.split = 4;
       })},
  };
}

std::vector<Case> Refusals::of_operands() {
  using enum RefusalId;
  return {
      {pointer_null, "group_ends is null; it must point to 2 numbers in device memory", ran_groups(nullptr)},
      {alignment_element, "group_ends is 0x20000004; its address must be a multiple of the 8 bytes of a number",
       ran_groups(static_cast<char*>(place(1)) + 4)},
      {overlap_input, "shares elements with group_ends at 0x80000000", ran_groups(place(3))},
      {overlap_input, "shares elements with the B of groups, from 0x20000000 on every 805306368",
       ran_groups(place(2), (std::int64_t{0x80000000} - 0x20000000) / 2)},
      {pointer_range, "and 2 begin every 536870912 elements; the last one must end below 2^63",
       ran_groups(place(2), 1 << 29, reinterpret_cast<const void*>((std::uintptr_t{1} << 63) - (1 << 30)))},
      {pointer_null, "A is null; it must point to 4 x 6 elements", ran([](Operands& o) { o.A = nullptr; })},
      {pointer_range, "takes 120 bytes; it must end below 2^63",
       ran([](Operands& o) { o.B = reinterpret_cast<const void*>(~std::uintptr_t{15}); })},
      {alignment_element, "D is at 0x80000002; its address must be a multiple of the 4 bytes of an element",
       ran([](Operands& o) { o.D = static_cast<char*>(o.D) + 2; })},
      {alignment_stated,
       "A is at 0x10000004; the problem says that its address is a multiple of 16 bytes: say 4, or move it",
       ran([](Operands& o) { o.A = static_cast<const char*>(o.A) + 4; }, [](Problem& p) { p.aligned.A = 16; })},
      {overlap_input, "D is at 0x10000000 and shares elements with A at 0x10000000; it must share none",
       ran([](Operands& o) { o.D = const_cast<void*>(o.A); })},
      {overlap_c,
       "D is at 0x40000004 and shares elements with C at 0x40000000; it must be C, with ldd = ldc, or share none",
       ran([](Operands& o) { o.D = const_cast<char*>(static_cast<const char*>(o.C)) + 4; })},
      {pointer_null, "the bias is null; it must point to 1 x 5 elements",
       ran([](Operands&) {}, [](Problem& p) { p.epilogue.bias = Bias::of_columns; })},
      {pointer_null, "alpha or beta is in device memory at a null pointer", [] { Scalar::in_device_memory(nullptr); }},
      {pointer_null, "device_alpha is null; the problem says that alpha is in device memory",
       ran([](Operands&) {}, [](Problem& p) { p.alpha = Factor::in_device_memory; })},
      {alignment_element, "device_beta is 0x10000002; its address must be a multiple of the 4 bytes of an f32",
       ran([](Operands& o) { o.device_beta = reinterpret_cast<const float*>(static_cast<const char*>(o.A) + 2); },
           [](Problem& p) { p.beta = Factor::in_device_memory; })},
      {overlap_input, "D is at 0x80000000 and shares elements with the bias at 0x80000004",
       ran([](Operands& o) { o.bias = static_cast<const char*>(o.D) + 4; },
           [](Problem& p) { p.epilogue.bias = Bias::of_columns; })},
      {overlap_input,
       "D is at 0x80000000 and shares elements with alpha at 0x8000004c; it must share none, since alpha is read while D "
       "is written",
       ran([](Operands& o) { o.device_alpha = static_cast<const float*>(o.D) + 19; },
           [](Problem& p) { p.alpha = Factor::in_device_memory; })},
      {overlap_input, "D is at 0x80000000 and shares elements with beta at 0x80000000",
       ran([](Operands& o) { o.device_beta = static_cast<const float*>(o.D); },
           [](Problem& p) { p.beta = Factor::in_device_memory; })},
      {pointer_range, "alpha is at 0xfffffffffffffff0 and takes 4 bytes; it must end below 2^63",
       ran([](Operands& o) { o.device_alpha = reinterpret_cast<const float*>(~std::uintptr_t{15}); },
           [](Problem& p) { p.alpha = Factor::in_device_memory; })},
      {overlap_residual,
       "D is at 0x80000000 and shares elements with the residual at 0x80000004; it must be that, with ldd = ldr",
       ran([](Operands& o) { o.residual = static_cast<const char*>(o.D) + 4; },
           [](Problem& p) { p.epilogue.residual = true; })},
      {epilogue_clamp, "results are to be clamped to 6 to 0; the first must be at most the second",
       ran(
           [](Operands& o) {
             o.low = 6;
             o.high = 0;
           },
           [](Problem& p) { p.epilogue.clamp = true; })},
      {in_place_stride, "D is the residual, and begins every 20 elements; the residual must as well, and does every 40",
       ran([](Operands& o) { o.residual = o.D; },
           [](Problem& p) {
             p.epilogue.residual = true;
             p.batch = {2, 0, 0, 0, 20, 40};
           })},
      // Of a batch, whose first product breaks no rule.
      {overlap_input,
       "the D of the batch, from 0x10000060 on every 20 elements, share some with A, from 0x10000000 on every 24; over "
       "the whole batch they must share none",
       ran([](Operands& o) { o.D = static_cast<char*>(const_cast<void*>(o.A)) + 96; },
           [](Problem& p) {
             p.batch = {2, 24, 30, 20, 20};
           })},
      {overlap_input, "share some with the bias, from 0x800000c0 on every 0",
       ran([](Operands& o) { o.bias = static_cast<const char*>(o.D) + 192; },
           [](Problem& p) {
             p.batch = {3, 24, 30, 20, 40};
             p.epilogue.bias = Bias::of_columns;
             p.ldd = 11;
           })},
      {overlap_input, "share some with beta, from 0x800000cc on every 0; over the whole batch they must share none",
       ran([](Operands& o) { o.device_beta = static_cast<const float*>(o.D) + 51; },
           [](Problem& p) {
             p.batch = {3, 24, 30, 20, 40};
             p.beta = Factor::in_device_memory;
             p.ldd = 11;
           })},
      {overlap_c, "share some with C, from 0x40000000 on every 20; over the whole batch they must share none, or each",
       ran([](Operands& o) { o.D = static_cast<char*>(const_cast<void*>(o.C)) + 80; },
           [](Problem& p) {
             p.batch = {2, 24, 30, 20, 20};
           })},
      {overlap_residual, "share some with the residual, from 0x80000050 on every 20",
       ran([](Operands& o) { o.residual = static_cast<const char*>(o.D) + 80; },
           [](Problem& p) {
             p.epilogue.residual = true;
             p.batch = {2, 24, 30, 20, 20, 20};
           })},
      {pointer_range, "the first B is at 0x20000000, and 2 begin every 2305843009213693888 elements",
       ran([](Operands&) {},
           [](Problem& p) {
             p.batch = {2, 24, (std::int64_t{1} << 61) - 64, 20, 20};
           })},
      {prepared_none, "the plan takes B as it is",
       [this] {
         context_.prepare(context_.plan({.M = 4, .N = 5, .K = 6}), device_->stream(), Matrix::B, address(1), place(3));
       }},
      {prepared_none, "the plan takes what is neither A nor B as it is",
       [this] {
         context_.prepare(context_.plan({.M = 4, .N = 5, .K = 6}), device_->stream(), Matrix::D, address(1), place(3));
       }},
      {prepared_copy, "to is at 0x8; it must be memory at a multiple of 256 bytes",
       [this] {
         const Plan plan = context_.plan(problem_of({Type::tf32, Type::f32}, 128, 256, 64), {.prepared = {.b = true}});
         context_.prepare(plan, device_->stream(), Matrix::B, address(1), reinterpret_cast<void*>(8));
       }},
      {prepared_copy, "to is at 0x20000000 and shares bytes with B at 0x20000004; a copy shares none",
       [this] {
         const Plan plan = context_.plan(problem_of({Type::tf32, Type::f32}, 128, 256, 64), {.prepared = {.b = true}});
         const auto* const to = static_cast<const std::byte*>(address(1));
         context_.prepare(plan, device_->stream(), Matrix::B, to + 4, const_cast<std::byte*>(to));
       }},
      {prepared_copy, "the copy of B is 0x0; the plan asks for one that prepare() has made",
       [this] {
         const Plan plan = context_.plan(problem_of({Type::tf32, Type::f32}, 128, 256, 64), {.prepared = {.b = true}});
         context_.run(plan, device_->stream(), {.A = address(0), .B = address(1), .D = place(3)});
       }},
      {in_place_address, "D is at 0x80000000 and C at 0x40000000; the problem says that D is C",
       ran([](Operands&) {}, [](Problem& p) { p.in_place = true; })},
      {in_place_address, "D is at 0x40000000 and C at 0x40000000; the problem says that D is not C",
       ran([](Operands& o) { o.D = const_cast<void*>(o.C); })},
      {factor_stated, "alpha is 2; the problem says that it is 1",
       ran([](Operands& o) { o.alpha = 2; }, [](Problem& p) { p.alpha = Factor::one; })},
  };
}

std::vector<Case> Refusals::of_choices() {
  using enum RefusalId;
  const auto same = [](Problem&) {};
  const auto aligned = [](Problem& p) { p = problem_of(p.kind, 128, 256, 64); };
  const GemmKind f16(Type::f16, Type::f16, row, column), f16_rows(Type::f16), tf32_rows(Type::tf32),
      e4m3(Type::e4m3, Type::f32, row, column);
  constexpr const char* cluster = "wgmma_cluster_128x256x64_s4_c2x1_e2x64_f16-RC";
  constexpr const char* of_parts = "wgmma_batched_128x192x64_s5_e1x40_f16-f32-RC";
  return {
      {card_unknown, "no GPU is named 'h201'; the nearest is H200", planned(same, GemmKind(), {}, "h201")},
      {card_ambiguous, "'a100' may be A100", planned(same, GemmKind(), {}, "a100")},
      {card_unlisted, "GTX 1080 has compute capability 6.1, and the library knows no card of that or less",
       [] { library::card_of_device("GTX 1080", 61); }},
      {card_kernels,
       "no kernel of the library computes f16 products on Tesla V100 SXM2 16GB, which has compute capability 7.0; the "
       "least that one needs is 8.0",
       planned(same, f16, {}, "v100 sxm2 16gb")},
      {card_kernels,
       "computes e4m3/f32 products on A100 PCIe 80GB, which has compute capability 8.0; the least that one needs is 8.9",
       planned(same, e4m3, {}, "a100 pcie 80gb")},
      {kernel_unknown, "'naive' is no kernel's id; they are written as in multistage_128x128x32_s3_f32",
       planned(same, {.kernel = "naive"})},
      {kernel_unknown, "no kernel has the id naive_8x8_f32; those of naive are naive_32x32_f32",
       planned(same, {.kernel = "naive_8x8_f32"})},
      {kernel_lesson,
       "naive_32x32_f32 is a lesson; the library chooses among kernels of bulk_transposed, mma_multistage, ",
       planned(same, {.kernel = "naive_32x32_f32"})},
      {kernel_type, "multistage_128x128x32_s3_f32 computes f32 products; the problem is of type f16",
       planned(same, f16, {.kernel = "multistage_128x128x32_s3_f32"})},
      {kernel_type,
       "computes f16 products; the problem is of type f16, of which it would have to compute f16/f32 for a second launch",
       planned(
           [](Problem& p) {
             p = problem_of(p.kind, 128, 256, 64);
             p.epilogue.clamp = true;
           },
           f16, {.kernel = cluster})},
      {kernel_card,
       "wgmma_cluster needs compute capability 9.0 itself, as wgmma is of sm_90a alone; A100 PCIe 80GB has 8.0",
       planned(aligned, f16, {.kernel = cluster}, "a100 pcie 80gb")},
      {kernel_card, "no block of multistage_128x256x32_s4_f32 fits a multiprocessor of RTX 3090",
       planned(same, GemmKind(), {.kernel = "multistage_128x256x32_s4_f32"}, "rtx 3090")},
      {kernel_problem, "N is 5; results that are stored in bulk are in multiples of 16 bytes, 8 elements",
       planned(same, f16, {.kernel = cluster})},
      {kernel_problem, "(of the transposed product, as D is column-major: A, B and M, N are exchanged)",
       planned([](Problem& p) { p.order_d = column; }, f16, {.kernel = cluster})},
      {kernel_problem,
       "wgmma_batched_128x128x64_s6_e2x64_f16-RC: A's leading dimension is 63; lines that are copied in bulk",
       planned(
           [](Problem& p) {
             p = resolved(problem_of(p.kind, 128, 256, 63));
             p.batch = one_after_another(p, 2);
           },
           f16, {.kernel = "wgmma_batched_128x128x64_s6_e2x64_f16-RC"})},
      {kernel_problem, "M is 24; B would be read again for each 16 rows, and is to be read once",
       planned([](Problem& p) { p = problem_of(p.kind, 24, 48, 64); }, f16,
               {.kernel = "wgmma_skinny_16x64x64_s6_f16-RC"})},
      {kernel_problem, "N is 48; A would be read again for each 32 columns, and is to be read once",
       planned([](Problem& p) { p = problem_of(p.kind, 24, 48, 64); }, f16,
               {.kernel = "wgmma_skinny_64x32x64_s5_f16-RC"})},
      // A kernel that would store sums of parts of K, of which there are none.
      {kernel_problem, "of the parts of a long K of few tiles; M, N and K are 128, 256 and 448",
       planned([](Problem& p) { p = problem_of(p.kind, 128, 256, 448); }, f16, {.kernel = of_parts})},
      {kernel_problem, "M, N and K are 8192, 8192 and 8192",
       planned([](Problem& p) { p = problem_of(p.kind, 8192, 8192, 8192); }, f16, {.kernel = of_parts})},
      {kernel_problem, "M, N and K are 128, 96 and 8192, and alpha is 0",
       planned(
           [](Problem& p) {
             p = problem_of(p.kind, 128, 96, 8192);
             p.alpha = Factor::zero;
           },
           f16, {.kernel = of_parts})},
      {kernel_problem, "N is 5; results that are stored in bulk are in multiples of 16 bytes, 4 elements",
       planned([](Problem& p) { p = problem_of(p.kind, 36, 5, 8192); }, f16, {.kernel = of_parts})},
      {kernel_type, "computes f16/f32 products; the problem is of type f16",
       planned(
           [](Problem& p) {
             p = resolved(problem_of(p.kind, 128, 256, 8192));
             p.batch = one_after_another(p, 2);
           },
           f16, {.kernel = of_parts})},
      {kernel_card, "wgmma_batched needs compute capability 9.0 itself",
       planned([](Problem& p) { p = problem_of(p.kind, 128, 256, 8192); }, f16, {.kernel = of_parts}, "b200")},
      {option_batch_invariant, "the order in which it adds up depends on how many rows there are",
       planned([](Problem& p) { p = problem_of(p.kind, 128, 256, 8192); }, f16,
               {.batch_invariant = true, .kernel = of_parts})},
      {option_workspace, "with workspace_bytes = 1000: the least workspace that is enough is 65536",
       planned(aligned, tf32_rows, {.workspace_bytes = 1000})},
      {option_packs, "with packs of A and B: there are ways with copies of neither A nor B",
       planned(aligned, {Type::e4m3, Type::f32, row, column}, {.packs = PackedOperands{true, true}})},
      {option_fast_accumulation,
       "with fast_accumulation = false and kernel = wgmma_energy_128x256x128_s4_c2x1_e4m3-f32-RC: sums are left to tensor "
       "cores, which fast_accumulation = true allows",
       planned(aligned, e4m3, {.kernel = "wgmma_energy_128x256x128_s4_c2x1_e4m3-f32-RC"})},
      {option_batch_invariant,
       "no kernel that adds up in the order for any number of rows takes this one; without batch_invariant it is mma_",
       planned([](Problem& p) { p = problem_of(p.kind, 2 * large, 256, 64); }, e4m3, {.batch_invariant = true})},
      // Several that leave no way by themselves, and such as leave one each.
      {option_workspace, "is 65536; and kernel = naive_32x32_f32: naive_32x32_f32 is a lesson",
       planned(aligned, tf32_rows, {.workspace_bytes = 1000, .kernel = "naive_32x32_f32"})},
      {option_workspace, "with workspace_bytes = 100 and packs of B: the least workspace that is enough is 32768",
       planned(aligned, f16_rows, {.workspace_bytes = 100, .packs = PackedOperands{false, true}})},
      {option_packs,
       "with packs of B and kernel = mma_multistage_128x256x32_s4_f16: there are ways with copies of neither A nor B",
       planned(aligned, f16_rows,
               {.kernel = "mma_multistage_128x256x32_s4_f16", .packs = PackedOperands{false, true}})},
      {table_form, "line 2 of the table of choices is no choice", [] { ChoiceTable("\n4x5x6"); }},
      {table_form, "line 1 of the table of choices has the sizes 512x512, which are not three numbers below 2^63",
       [] { ChoiceTable("f16-RCR 512x512 mma_multistage_128x256x32_s4_f16-RC"); }},
      {table_form, "has the sizes 512x512x99999999999999999999, which are not three numbers",
       [] { ChoiceTable("f16-RCR 512x512x99999999999999999999 mma_multistage_128x256x32_s4_f16-RC"); }},
      {table_form, "has f16-RCR 0512x512x64 where f16-RCR 512x512x64 would be a product",
       [] { ChoiceTable("f16-RCR 0512x512x64 mma_multistage_128x256x32_s4_f16-RC"); }},
      {table_form, "has f16-XCR 512x512x64 where f16-RCR 512x512x64 would be a product",
       [] { ChoiceTable("f16-XCR 512x512x64 mma_multistage_128x256x32_s4_f16-RC"); }},
      {table_form, "has no product, as M is -512; sizes must be 0 or more",
       [] { ChoiceTable("f16-RCR -512x512x64 mma_multistage_128x256x32_s4_f16-RC"); }},
      {table_form, "has no product, as", [] { ChoiceTable("f61-RCR 512x512x64 mma_multistage_128x256x32_s4_f16-RC"); }},
      {kernel_unknown, "line 2 of the table of choices has no kernel: 'wgmma_staged_f16-RX' is no kernel's id",
       [] { ChoiceTable("\nf32-RRR 4x5x6 wgmma_staged_f16-RX"); }},
      {kernel_lesson, "line 1 of the table of choices has naive_32x32_f32, a lesson",
       [] { ChoiceTable("f32-RRR 4x5x6 naive_32x32_f32"); }},
      {kernel_type, "has multistage_128x128x32_s3_f32, which computes f32 products",
       [] { ChoiceTable("f16-RRR 4x5x6 multistage_128x128x32_s3_f32"); }},
      {kernel_type, "has wgmma_staged_128x256x64_s4_e2x64_f16-RC, which computes f16 RC products",
       [] { ChoiceTable("f16-f32-RCR 512x512x512 wgmma_staged_128x256x64_s4_e2x64_f16-RC"); }},
      {table_twice, "line 2 of the table of choices is the second one for f32-RRR 4x5x6",
       [] { ChoiceTable("f32-RRR 4x5x6 multistage_128x128x32_s3_f32\nf32-RRR 4x5x6 multistage_128x128x32_s3_f32"); }},
      {plan_id_form, "'1.h200' is no plan's id; they are written as in 1.h200.f16-RCR.", id("1.h200")},
      // Of a batch in which each product has a B of its own there is no copy to be made before.
      {plan_id_form,
       "cannot be made: that of its kernel is 1.h200.f32-CRR.16x65x16.ld16-65-65-65.at16-16-16-16.vz.n3-256-",
       id("1.h200.f32-CRR.16x65x16.ld16-65-65-65.at16-16-16-16.vz.n3-256-1040-0-1040.split_k_32x32x16_s4_f32-CR.pB")},
      {plan_id_card, "its card is H200, which is written h200",
       id("1.H200.f32-RRR.4x5x6.ld6-5-5-5.at4-4-4-4.vz.multistage_128x128x32_s3_f32.p")},
      {plan_id_kernel, "D has no elements, and its kernel is multistage_128x128x32_s3_f32; write none",
       id("1.h200.f32-RRR.0x5x6.ld6-5-5-5.at4-4-4-4.vz.multistage_128x128x32_s3_f32.p")},
      {plan_id_kernel, "D has elements, and its kernel is none",
       id("1.h200.f32-RRR.4x5x6.ld6-5-5-5.at4-4-4-4.vz.none.p")},
      {option_packs,
       "cannot be made: nothing computes the product on H200 with packs of A: there are ways with copies of neither",
       id("1.h200.f32-RRR.4x5x0.ld1-5-5-5.at4-4-4-4.vz.multistage_128x128x32_s3_f32.pa")},
      {kernel_lesson, "cannot be made: nothing computes the product on H200 with kernel = naive_32x32_f32",
       id("1.h200.f32-RRR.4x5x6.ld6-5-5-5.at4-4-4-4.vz.naive_32x32_f32.p")},
  };
}

std::vector<Case> Refusals::of_machines() {
  using enum RefusalId;
  std::vector<Case> cases = {
      {card_multiprocessors, "the card has 1 multiprocessors; wgmma_cluster_128x256x64_s4_c2x1_e2x64_f16-RC needs 2",
       [] {
         const auto device = open_emulator({.multiprocessors = 1});
         Context context(*device);
         Problem p = problem_of({Type::f16, Type::f16, row, column}, 128, 256, 64);
         const Plan made = context.plan(p, {.kernel = "wgmma_cluster_128x256x64_s4_c2x1_e2x64_f16-RC"});
         context.run(made, device->stream(), {address(0), address(1), nullptr, place(3)});
       }},
      {workspace_alignment, "the workspace is at 0x8; its address must be a multiple of 256",
       [this] {
         Problem p = problem_of({Type::tf32, Type::f32}, 128, 256, 64);
         context_.run(context_.plan(p), device_->stream(), {address(0), address(1), nullptr, place(3)},
                      reinterpret_cast<void*>(8));
       }},
      {workspace_overlap, "some are of A at ", in_workspace(&Operands::A)},
      {workspace_overlap, "some are of B at ", in_workspace(&Operands::B)},
      {workspace_overlap, "some are of C at ", in_workspace(&Operands::C)},
      {workspace_overlap, "some are of the bias at ", in_workspace(&Operands::bias)},
      {workspace_overlap, "some are of the residual at ", in_workspace(&Operands::residual)},
      {workspace_overlap, "some are of alpha at ", in_workspace(&Operands::device_alpha)},
      {workspace_overlap, "some are of beta at ", in_workspace(&Operands::device_beta)},
      {workspace_overlap, "some are of D at ",
       [this] {
         Problem p = problem_of({Type::tf32, Type::f32}, 128, 256, 64);
         context_.run(context_.plan(p), device_->stream(), {address(0), address(1), nullptr, place(3)}, place(3));
       }},
      {memory_free, "memory needs 4611686018427387904 bytes of memory, of which",
       [this] { DeviceBuffer(*device_, std::size_t{1} << 62, "memory"); }},
      // By what open_gpu() asks; no machine has every card and driver.
      {device_card, "Tesla T4 has compute capability 7.5; kernels need 8.0 or newer",
       [] { require_none(card_refusal("Tesla T4", 75, 13000, 13000, "80;90a-real")); }},
      {device_driver, "the driver supports CUDA 12.8, and this program needs one that supports 13.0 or newer",
       [] { require_none(driver_refusal(12080, 13010)); }},
      {device_build, "this program has no plain build of naive_32x32_f32",
       [] {
         KernelEntry kernel = find_kernel("naive_32x32_f32");
         kernel.builds[static_cast<std::size_t>(Build::plain)] = nullptr;
         prepare(kernel, Build::plain, {.M = 1, .N = 1, .K = 1}, {90, 132});
       }},
      {device_stream, "the gpu build of a kernel runs on a GPU; this stream belongs to the emulated machine",
       [this] { require_stream_for(Build::gpu, device_->stream()); }},
      {device_stream,
       "the stream is of an emulated machine, and the context of another one; it must be of the context's own",
       [this] {
         const std::unique_ptr<Device> other = open_emulator();
         const Plan plan = lapidary::plan({.M = 4, .N = 5, .K = 6, .aligned = {4, 4, 4, 4}}, "h200");
         Context(*other).run(plan, device_->stream(), {.A = address(0), .B = address(1), .D = place(3)});
       }},
      {shape_copy, "which has 67108864 x 67108864 tiles of 64 x 64; a copy numbers at most 2147483647",
       [this] {
         const std::int64_t side = std::int64_t{1} << 32;
         pack(Build::plain, device_->stream(), {Type::s8, side, side, row, column, side, side}, nullptr, nullptr);
       }},
  };
  if (gpu_count() == 0) cases.push_back({device_none, "there is no GPU to run on", [] { open_gpu(); }});
  return cases;
}

std::vector<Case> Refusals::of_c_functions() {
  using enum RefusalId;
  const auto multiply = [this](void (*change)(lapidary_matrix & A, lapidary_options & options),
                               void* stream = nullptr) {
    return [=, this] {
      lapidary_matrix A = lapidary_row_major(address(0), LAPIDARY_F32, 4, 6);
      const lapidary_matrix B = lapidary_row_major(address(1), LAPIDARY_F32, 6, 5),
                            D = lapidary_row_major(place(3), LAPIDARY_F32, 4, 5);
      lapidary_options options = {};
      options.size = sizeof(options);
      change(A, options);
      of_c(lapidary_gemm(c_context_, stream, 1, &A, &B, 0, nullptr, &D, &options));
    };
  };
  return {
      {argument_null, "the place of the context is null; it must point to something",
       [] { of_c(lapidary_create(LAPIDARY_EMULATED, nullptr)); }},
      {argument_memory, "where there is none to free; it must be what lapidary_allocate() gave",
       [this] { of_c(lapidary_free(c_context_, place(0))); }},
      {argument_copy, "is none that lapidary_allocate() gave in this context; it must have the 4 that are to be copied",
       [this] {
         float host = 0;
         of_c(lapidary_upload(c_context_, place(0), &host, sizeof(host)));
       }},
      {argument_device, "the device has value 7; devices are 0 (a GPU)",
       [] {
         lapidary_context* none = nullptr;
         of_c(lapidary_create(static_cast<lapidary_device>(7), &none));
       }},
      {argument_stream, "the stream is not null; an emulated machine has no streams: give null",
       multiply([](lapidary_matrix&, lapidary_options&) {}, place(0))},
      {argument_options, "the size of the options is 3; it must be sizeof(lapidary_options)",
       multiply([](lapidary_matrix&, lapidary_options& options) { options.size = 3; })},
      {argument_options, "the size of the options is 28; it must be sizeof(lapidary_options)",
       multiply(
           [](lapidary_matrix&, lapidary_options& options) { options.size = offsetof(lapidary_options, kernel) - 4; })},
      {argument_options, "the size of the epilogue is 0; it must be sizeof(lapidary_epilogue)",
       multiply([](lapidary_matrix&, lapidary_options& options) {
         static const lapidary_epilogue epilogue = {};
         options.epilogue = &epilogue;
       })},
      {overlap_input, "D is at 0x80000000 and shares elements with alpha at 0x80000000",
       multiply([](lapidary_matrix&, lapidary_options& options) {
         static const lapidary_epilogue epilogue = [] {
           lapidary_epilogue of_alpha = {};
           of_alpha.size = sizeof(of_alpha);
           of_alpha.alpha = static_cast<const float*>(address(3));
           return of_alpha;
         }();
         options.epilogue = &epilogue;
       })},
      {type_value,
       "the type of A has value 7; types are 0 (f32), 1 (f16), 2 (bf16), 3 (tf32), 4 (e4m3), 5 (s8), 6 (s32, of C and D alone)",
       multiply([](lapidary_matrix& A, lapidary_options&) { A.type = static_cast<lapidary_type>(7); })},
      {shape_b, "B is 6 x 5; as A and D are it must be 7 x 5",
       multiply([](lapidary_matrix& A, lapidary_options&) { A.cols = 7; })},
  };
}

TEST_F(Refusals, OfTheCatalogueAreEachReached) {
  std::set<RefusalId> reached;
  for (const auto& cases : {of_products(), of_problems(), of_operands(), of_choices(), of_machines(), of_c_functions()})
    for (const Case& broken : cases) {
      const char* const id = refusal_ids[static_cast<std::size_t>(broken.broken)];
      reached.insert(broken.broken);
      try {
        broken.call();
        ADD_FAILURE() << id << " is not refused: " << broken.told;
      } catch (const Refusal& refusal) {
        EXPECT_STREQ(refusal.id(), id);
        EXPECT_NE(std::string(refusal.what()).find(broken.told), std::string::npos)
            << id << ": " << refusal.what() << "\n  has no " << broken.told;
      } catch (const std::exception& error) {
        ADD_FAILURE() << id << ": of no rule: " << error.what();
      }
    }
  if (gpu_count() > 0) reached.insert(RefusalId::device_none);
  for (std::size_t i = 0; i < std::size(refusal_ids); ++i)
    EXPECT_TRUE(reached.count(static_cast<RefusalId>(i))) << refusal_ids[i] << " is reached by no case";
}

TEST_F(Refusals, AreNotOfWhatIsNeitherReadNorWritten) {
  const auto nothing = [](Operands& o) { o = {nullptr, nullptr, nullptr, nullptr, 1, 1}; };
  EXPECT_NO_THROW(ran(nothing, [](Problem& p) { p.batch = {0, 24, 30, 20, 20}; })());
  EXPECT_NO_THROW(ran(nothing, [](Problem& p) {
    p.M = 0;
    p.epilogue.bias = Bias::of_columns;
  })());
  EXPECT_NO_THROW(planned([](Problem& p) {
    p.in_place = true;
    p.batch = {2, 0, 0, 40, 20};
  })());
}

TEST(RefusalIds, AreOfOneRuleEach) {
  const std::set<std::string_view> ids(std::begin(refusal_ids), std::end(refusal_ids));
  EXPECT_EQ(ids.size(), std::size(refusal_ids));
}

}  // namespace
}  // namespace lapidary
