// The C functions give back a status whatever they are given, with a message that says what was wrong, and touch
// nothing unless they succeed.
#include "lapidary/lapidary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lapidary/gemm.hpp"

namespace {

class CFace : public testing::Test {
 protected:
  static constexpr int side = 24;

  void SetUp() override {
    const lapidary_device device = LAPIDARY_WITH_INSTRUMENTED ? LAPIDARY_CHECKED : LAPIDARY_EMULATED;
    ASSERT_EQ(lapidary_create(device, &context_), LAPIDARY_SUCCESS) << lapidary_last_error();
    for (void*& memory : memory_) {
      ASSERT_EQ(lapidary_allocate(context_, side * side * 4, &memory), LAPIDARY_SUCCESS);
      const std::vector<float> ones(side * side, 1);
      ASSERT_EQ(lapidary_upload(context_, memory, ones.data(), side * side * 4), LAPIDARY_SUCCESS);
    }
  }
  void TearDown() override {
    for (void* const memory : memory_) EXPECT_EQ(lapidary_free(context_, memory), LAPIDARY_SUCCESS);
    lapidary_destroy(context_);
  }

  lapidary_matrix matrix(int which) const {
    return lapidary_row_major(memory_[static_cast<std::size_t>(which)], LAPIDARY_F32, side, side);
  }
  /// Of the first matrix times the second one; null, and a failure, if it is refused.
  lapidary_plan* planned(const lapidary_options& options, lapidary_type type = LAPIDARY_F32) const {
    lapidary_matrix a = matrix(0), b = matrix(1), d = matrix(3);
    a.type = b.type = type;
    lapidary_plan* plan = nullptr;
    EXPECT_EQ(lapidary_plan_create(context_, nullptr, 1, &a, &b, 0, nullptr, &d, &options, &plan), LAPIDARY_SUCCESS)
        << lapidary_last_error();
    return plan;
  }
  std::vector<float> results() const {
    std::vector<float> found(side * side);
    EXPECT_EQ(lapidary_download(context_, found.data(), memory_[3], side * side * 4), LAPIDARY_SUCCESS);
    return found;
  }

  lapidary_context* context_ = nullptr;
  std::array<void*, 4> memory_ = {};
};

TEST_F(CFace, Multiplies) {
  const lapidary_matrix a = matrix(0), b = matrix(1), c = matrix(2), d = matrix(3);
  ASSERT_EQ(lapidary_gemm(context_, nullptr, 2, &a, &b, -3, &c, &d, nullptr), LAPIDARY_SUCCESS)
      << lapidary_last_error();
  for (const float result : results()) ASSERT_EQ(result, 2 * side - 3);
}

TEST_F(CFace, SaysWhatWasWrong) {
  const lapidary_matrix a = matrix(0), b = matrix(1), d = matrix(3);
  const auto expect = [&](lapidary_status status, const std::string& message) {
    EXPECT_EQ(status, LAPIDARY_INVALID_ARGUMENT);
    EXPECT_EQ(lapidary_last_error(), message);
  };
  expect(lapidary_synchronize(nullptr), "the context is null; it must point to something");
  expect(lapidary_gemm(context_, nullptr, 1, nullptr, &b, 0, nullptr, &d, nullptr),
         "A is null; it must point to something");
  expect(lapidary_gemm(context_, nullptr, 1, &a, &b, 1, nullptr, &d, nullptr),
         "C, which is read as beta is not 0, is null; it must point to something");
  expect(lapidary_gemm(context_, &memory_, 1, &a, &b, 0, nullptr, &d, nullptr),
         "the stream is not null; an emulated machine has no streams: give null");
  expect(lapidary_create(static_cast<lapidary_device>(7), &context_),
         "the device has value 7; devices are 0 (a GPU), 1 (emulated) and 2 (emulated and checked)");
  const std::string types =
      "; types are 0 (f32), 1 (f16), 2 (bf16), 3 (tf32), 4 (e4m3), 5 (s8), 6 (s32, of C and D alone)";
  lapidary_matrix odd = matrix(0);
  odd.type = static_cast<lapidary_type>(7);
  expect(lapidary_gemm(context_, nullptr, 1, &odd, &b, 0, nullptr, &d, nullptr), "the type of A has value 7" + types);
  for (const auto& [type, name] : {std::pair(LAPIDARY_F64, "f64"), {LAPIDARY_E5M2, "e5m2"}}) {
    odd.type = type;
    expect(lapidary_gemm(context_, nullptr, 1, &odd, &odd, 0, nullptr, &d, nullptr),
           std::string("the type of A is ") + name + ", which no kernel computes yet" + types);
    EXPECT_STREQ(lapidary_last_refusal(), "type.value");
    expect(lapidary_gemm(context_, nullptr, 1, &a, &b, 0, nullptr, &odd, nullptr),
           std::string("the type of D is ") + name + ", which no kernel computes yet" + types);
  }
  odd = matrix(0);
  odd.data = nullptr;
  expect(lapidary_gemm(context_, nullptr, 1, &odd, &b, 0, nullptr, &d, nullptr),
         "A is null; it must point to 24 x 24 elements");
  lapidary_options options = {};
  expect(lapidary_gemm(context_, nullptr, 1, &a, &b, 0, nullptr, &d, &options),
         "the size of the options is 0; it must be sizeof(lapidary_options), " + std::to_string(sizeof(options)));
  // Of each thread its own.
  std::thread([] {
    EXPECT_STREQ(lapidary_last_error(), "");
    EXPECT_STREQ(lapidary_last_refusal(), "");
  }).join();
  EXPECT_STRNE(lapidary_last_error(), "");
  EXPECT_STREQ(lapidary_last_refusal(), "argument.options");
}

// Exceptions of the C++ functions that the shared object exports are those of the program that it is loaded into.
TEST(SharedObject, ThrowsWhatProgramsCatch) {
  try {
    lapidary::plan_of("1.h200");
    FAIL() << "it is refused";
  } catch (const lapidary::Refusal& refusal) {
    EXPECT_STREQ(refusal.id(), "plan_id.form");
  }
}

/// What a matrix of ones times itself is on a GPU, in the context and on the stream that null stands for.
void expect_right_on_the_gpu() {
  constexpr int side = 24;
  lapidary_context* gpu = nullptr;
  ASSERT_EQ(lapidary_create(LAPIDARY_GPU, &gpu), LAPIDARY_SUCCESS) << lapidary_last_error();
  std::vector<float> values(side * side, 1);
  const std::size_t bytes = values.size() * sizeof(float);
  void *ones = nullptr, *results = nullptr;
  EXPECT_EQ(lapidary_allocate(gpu, bytes, &ones), LAPIDARY_SUCCESS);
  EXPECT_EQ(lapidary_allocate(gpu, bytes, &results), LAPIDARY_SUCCESS);
  EXPECT_EQ(lapidary_upload(gpu, ones, values.data(), bytes), LAPIDARY_SUCCESS);
  const lapidary_matrix a = lapidary_row_major(ones, LAPIDARY_F32, side, side),
                        d = lapidary_row_major(results, LAPIDARY_F32, side, side);
  for (const float alpha : {2.0F, -1.0F}) {
    EXPECT_EQ(lapidary_gemm(nullptr, nullptr, alpha, &a, &a, 0, nullptr, &d, nullptr), LAPIDARY_SUCCESS)
        << lapidary_last_error();
    EXPECT_EQ(lapidary_download(gpu, values.data(), results, bytes), LAPIDARY_SUCCESS);
    for (const float value : values) ASSERT_EQ(value, alpha * side);
    EXPECT_EQ(lapidary_clear(nullptr), LAPIDARY_SUCCESS);
  }
  EXPECT_EQ(lapidary_free(gpu, ones), LAPIDARY_SUCCESS);
  EXPECT_EQ(lapidary_free(gpu, results), LAPIDARY_SUCCESS);
  lapidary_destroy(gpu);
}

TEST_F(CFace, NullIsTheContextOfTheCurrentGpu) {
  const lapidary_matrix a = matrix(0), b = matrix(1), d = matrix(3);
  char id[400] = "";
  EXPECT_EQ(lapidary_clear(nullptr), LAPIDARY_SUCCESS) << "where there is none there is nothing to let go of";
  const bool there = lapidary_gpu_count() > 0;
  const lapidary_status expected = there ? LAPIDARY_SUCCESS : LAPIDARY_INVALID_ARGUMENT;
  EXPECT_EQ(lapidary_explain(nullptr, 1, &a, &b, 0, nullptr, &d, nullptr, id, nullptr, sizeof(id)), expected);
  EXPECT_EQ(id[0] != 0, there);
  EXPECT_EQ(lapidary_clear(nullptr), LAPIDARY_SUCCESS);
  if (there) return expect_right_on_the_gpu();
  EXPECT_EQ(lapidary_gemm(nullptr, nullptr, 1, &a, &b, 0, nullptr, &d, nullptr), expected);
  EXPECT_EQ(std::string(lapidary_last_error()).substr(0, 26), "there is no GPU to run on:") << lapidary_last_error();
  EXPECT_STREQ(lapidary_last_refusal(), "device.none");
}

// CUDA does not get over a kernel that read where nothing is, and neither does the process: it is one of its own.
TEST(CFaceOnAGpu, TellsOfAFailedKernelFromThenOn) {
  if (lapidary_gpu_count() == 0) GTEST_SKIP() << "there is no GPU";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fail = [] {
    constexpr std::int64_t n = 64;
    lapidary_context* context = nullptr;
    void *b = nullptr, *d = nullptr;
    bool failed = lapidary_create(LAPIDARY_GPU, &context) != LAPIDARY_SUCCESS ||
                  lapidary_allocate(context, n * n * 4, &b) != LAPIDARY_SUCCESS ||
                  lapidary_allocate(context, n * n * 4, &d) != LAPIDARY_SUCCESS;
    void* const nowhere = reinterpret_cast<void*>(std::uintptr_t{4096});
    const lapidary_matrix A = lapidary_row_major(nowhere, LAPIDARY_F32, n, n),
                          B = lapidary_row_major(b, LAPIDARY_F32, n, n), D = lapidary_row_major(d, LAPIDARY_F32, n, n);
    const auto gemm = [&] { return lapidary_gemm(context, nullptr, 1, &A, &B, 0, nullptr, &D, nullptr); };
    failed = failed || gemm() != LAPIDARY_SUCCESS || lapidary_synchronize(context) != LAPIDARY_DEVICE_ERROR;
    std::cerr << "synchronize: " << lapidary_last_error() << '\n';
    failed = failed || gemm() != LAPIDARY_DEVICE_ERROR;
    std::cerr << "gemm: " << lapidary_last_error() << '\n';
    std::_Exit(failed);
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(0), "synchronize: .*illegal.*\ngemm: .*illegal");
}

TEST_F(CFace, TakesAMatrixWithoutACountForOne) {
  const lapidary_matrix a = {memory_[0], LAPIDARY_F32, side, side, side, 1, 0, 0},
                        d = {memory_[3], LAPIDARY_F32, side, side, side, 1, 0, 0};
  ASSERT_EQ(lapidary_gemm(context_, nullptr, -1, &a, &a, 0, nullptr, &d, nullptr), LAPIDARY_SUCCESS)
      << lapidary_last_error();
  for (const float result : results()) ASSERT_EQ(result, -side);
}

TEST_F(CFace, LooksAtNothingThatIsNotRead) {
  const lapidary_matrix a = matrix(0), b = matrix(1), d = matrix(3);
  lapidary_matrix c = {};
  c.type = static_cast<lapidary_type>(99);
  c.rows = -1;
  ASSERT_EQ(lapidary_gemm(context_, nullptr, 1, &a, &b, 0, &c, &d, nullptr), LAPIDARY_SUCCESS) << lapidary_last_error();
  for (const float result : results()) ASSERT_EQ(result, side);
  EXPECT_EQ(lapidary_gemm(context_, nullptr, 1, &a, &b, 1, &c, &d, nullptr), LAPIDARY_INVALID_ARGUMENT);
}

TEST_F(CFace, IsCleared) {
  const lapidary_matrix a = matrix(0), b = matrix(1), d = matrix(3);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(lapidary_gemm(context_, nullptr, 1, &a, &b, 0, nullptr, &d, nullptr), LAPIDARY_SUCCESS);
    for (const float result : results()) ASSERT_EQ(result, side);
    EXPECT_EQ(lapidary_clear(context_), LAPIDARY_SUCCESS);
  }
}

TEST_F(CFace, TakesOptions) {
  const lapidary_matrix a = matrix(0), b = matrix(1), d = matrix(3);
  lapidary_options options = {};
  options.size = sizeof(options);
  options.kernel = "multistage_128x256x32_s4_f32";
  char id[400] = "", why[8] = "";
  ASSERT_EQ(lapidary_explain(context_, 1, &a, &b, 0, nullptr, &d, &options, id, nullptr, sizeof(id)), LAPIDARY_SUCCESS);
  EXPECT_NE(std::string(id).find(".multistage_128x256x32_s4_f32.p"), std::string::npos) << id;
  ASSERT_EQ(lapidary_explain(context_, 1, &a, &b, 0, nullptr, &d, &options, nullptr, why, sizeof(why)),
            LAPIDARY_SUCCESS);
  EXPECT_STREQ(why, "multist") << "cut off";
  options.kernel = "none";
  EXPECT_EQ(lapidary_gemm(context_, nullptr, 1, &a, &b, 0, nullptr, &d, &options), LAPIDARY_INVALID_ARGUMENT);
}

/// Of a plan.
lapidary_plan_info info_of(const lapidary_plan* plan) {
  lapidary_plan_info info = {};
  info.size = sizeof(info);
  EXPECT_EQ(lapidary_plan_describe(plan, &info), LAPIDARY_SUCCESS) << lapidary_last_error();
  return info;
}
lapidary_operands operands_at(const void* a, const void* b, const void* c, void* d) {
  lapidary_operands operands = {};
  operands.size = sizeof(operands);
  operands.A = a;
  operands.B = b;
  operands.C = c;
  operands.D = d;
  return operands;
}

TEST_F(CFace, RunsPlans) {
  const lapidary_matrix a = matrix(0), b = matrix(1), c = matrix(2), d = matrix(3);
  lapidary_plan* plan = nullptr;
  ASSERT_EQ(lapidary_plan_create(context_, nullptr, 2, &a, &b, -3, &c, &d, nullptr, &plan), LAPIDARY_SUCCESS)
      << lapidary_last_error();
  const lapidary_plan_info info = info_of(plan);
  char id[400] = "", why[400] = "";
  ASSERT_EQ(lapidary_explain(context_, 2, &a, &b, -3, &c, &d, nullptr, id, why, sizeof(id)), LAPIDARY_SUCCESS);
  EXPECT_STREQ(info.id, id);
  EXPECT_STREQ(info.why, why);
  EXPECT_NE(std::string(id).find(info.kernel), std::string::npos);
  EXPECT_STREQ(info.card, "H200");
  EXPECT_GT(info.seconds, 0);
  EXPECT_GT(info.error_products, 0);
  lapidary_operands at = operands_at(a.data, b.data, c.data, d.data);
  ASSERT_EQ(lapidary_run(context_, plan, nullptr, 5, 7, &at, nullptr), LAPIDARY_SUCCESS) << lapidary_last_error();
  for (const float result : results()) ASSERT_EQ(result, 5 * side + 7);

  lapidary_plan* again = nullptr;
  ASSERT_EQ(
      lapidary_plan_from_id(
          "1.h200.f16-RCR.64x64x64.ld64-64-64-64.at16-16-16-16.oz.wgmma_waves_64x64x64_s13_e1x64_f16-RC.p-w", &again),
      LAPIDARY_SUCCESS)
      << lapidary_last_error();
  EXPECT_EQ(info_of(again).waits, 1);
  EXPECT_EQ(info.waits, 0);
  lapidary_plan_destroy(again);
  ASSERT_EQ(lapidary_plan_from_id(id, &again), LAPIDARY_SUCCESS) << lapidary_last_error();
  EXPECT_STREQ(info_of(again).id, id);
  lapidary_plan_destroy(plan);
  ASSERT_EQ(lapidary_run(context_, again, nullptr, 2, -3, &at, nullptr), LAPIDARY_SUCCESS) << lapidary_last_error();
  for (const float result : results()) ASSERT_EQ(result, 2 * side - 3);
  lapidary_plan_destroy(again);

  // For another card no context is asked; who knows less of what a plan says is told that alone.
  ASSERT_EQ(lapidary_plan_create(nullptr, "a100 sxm4 40gb", 1, &a, &b, 0, nullptr, &d, nullptr, &plan),
            LAPIDARY_SUCCESS);
  lapidary_plan_info first = {};
  first.size = offsetof(lapidary_plan_info, kernel);
  ASSERT_EQ(lapidary_plan_describe(plan, &first), LAPIDARY_SUCCESS);
  EXPECT_NE(std::string(first.card).find("A100"), std::string::npos) << first.card;
  EXPECT_EQ(first.kernel, nullptr);
  EXPECT_EQ(first.size, offsetof(lapidary_plan_info, kernel));
  EXPECT_EQ(lapidary_run(context_, plan, nullptr, 1, 7, &at, nullptr), LAPIDARY_INVALID_ARGUMENT);
  EXPECT_STREQ(lapidary_last_refusal(), "factor.stated");
  lapidary_plan_destroy(plan);
  lapidary_plan_destroy(nullptr);
}

TEST_F(CFace, RunsPlansWithEpilogues) {
  const lapidary_matrix a = matrix(0), b = matrix(1), d = matrix(3);
  lapidary_epilogue epilogue = {};
  epilogue.size = sizeof(epilogue);
  epilogue.bias = LAPIDARY_BIAS_OF_ROWS;
  epilogue.bias_data = memory_[2];
  epilogue.scales = 1;
  epilogue.scale = 0.5f;
  epilogue.clamps = 1;
  epilogue.low = 0;
  epilogue.high = 10;
  lapidary_options options = {};
  options.size = sizeof(options);
  options.epilogue = &epilogue;
  lapidary_plan* plan = planned(options);
  ASSERT_TRUE(plan);
  lapidary_operands at = operands_at(a.data, b.data, nullptr, d.data);
  const auto run = [&] { return lapidary_run(context_, plan, nullptr, 1, 0, &at, nullptr); };
  const auto expect = [&](float result) {
    ASSERT_EQ(run(), LAPIDARY_SUCCESS) << lapidary_last_error();
    for (const float found : results()) ASSERT_EQ(found, result);
  };
  expect(10);  // (24 + 1) / 2, clamped
  const float scale = 2, limits[] = {0, 49};
  at.scale = &scale;
  expect(10);
  at.limits = limits;
  expect(49);
  at.bias = memory_[0];
  expect(49);

  // One that is made from its id knows of no numbers and addresses.
  lapidary_plan* again = nullptr;
  ASSERT_EQ(lapidary_plan_from_id(info_of(plan).id, &again), LAPIDARY_SUCCESS) << lapidary_last_error();
  lapidary_plan_destroy(plan);
  plan = again;
  expect(49);
  const auto expect_refused = [&](const char* refusal) {
    EXPECT_EQ(run(), LAPIDARY_INVALID_ARGUMENT);
    EXPECT_STREQ(lapidary_last_refusal(), refusal);
  };
  at.scale = nullptr;
  expect_refused("argument.null");
  at.scale = &scale;
  at.limits = nullptr;
  expect_refused("argument.null");
  at.limits = limits;
  at.bias = nullptr;
  expect_refused("pointer.null");
  lapidary_plan_destroy(plan);
}

// What is copied before a run and what the caller's workspace takes is where the plan says, and as large.
TEST_F(CFace, RunsPlansOnPreparedWeightsAndAWorkspaceOfTheCaller) {
  // Of tf32 kernels read B by its columns.
  const lapidary_matrix a = matrix(0), b = matrix(1), d = matrix(3);
  for (const bool prepares : {true, false}) {
    lapidary_options options = {};
    options.size = sizeof(options);
    options.prepared_b = prepares;
    lapidary_plan* const plan = planned(options, LAPIDARY_TF32);
    ASSERT_TRUE(plan);
    const lapidary_plan_info info = info_of(plan);
    ASSERT_EQ(info.packs_b, 1);
    EXPECT_EQ(info.packs_a, 0);
    EXPECT_EQ(info.prepared_a_bytes, 0u);
    ASSERT_EQ(info.prepared_b_bytes > 0, prepares);
    ASSERT_EQ(info.workspace_bytes > 0, !prepares);
    void* memory = nullptr;
    ASSERT_EQ(lapidary_allocate(context_, std::max(info.prepared_b_bytes, info.workspace_bytes), &memory),
              LAPIDARY_SUCCESS);
    lapidary_operands at = operands_at(a.data, prepares ? nullptr : b.data, nullptr, d.data);
    const auto prepare = [&](lapidary_operand operand, const void* from) {
      return lapidary_prepare(context_, plan, nullptr, operand, from, memory);
    };
    if (prepares) {
      ASSERT_EQ(prepare(LAPIDARY_B, b.data), LAPIDARY_SUCCESS) << lapidary_last_error();
      at.prepared_b = memory;
      EXPECT_EQ(prepare(LAPIDARY_A, a.data), LAPIDARY_INVALID_ARGUMENT);
      EXPECT_STREQ(lapidary_last_refusal(), "prepared.none");
      EXPECT_EQ(prepare(static_cast<lapidary_operand>(2), a.data), LAPIDARY_INVALID_ARGUMENT);
      EXPECT_STREQ(lapidary_last_refusal(), "value.unknown");
    }
    ASSERT_EQ(lapidary_run(context_, plan, nullptr, 1, 0, &at, prepares ? nullptr : memory), LAPIDARY_SUCCESS)
        << lapidary_last_error();
    for (const float result : results()) ASSERT_EQ(result, side);
    if (prepares) {
      at.prepared_b = nullptr;
      EXPECT_EQ(lapidary_run(context_, plan, nullptr, 1, 0, &at, nullptr), LAPIDARY_INVALID_ARGUMENT);
      EXPECT_STREQ(lapidary_last_refusal(), "prepared.copy");
    } else {
      EXPECT_EQ(lapidary_run(context_, plan, nullptr, 1, 0, &at, static_cast<char*>(memory) + 8),
                LAPIDARY_INVALID_ARGUMENT);
      EXPECT_STREQ(lapidary_last_refusal(), "workspace.alignment");
    }
    lapidary_plan_destroy(plan);
    EXPECT_EQ(lapidary_free(context_, memory), LAPIDARY_SUCCESS);
  }
}

TEST_F(CFace, ChoosesByATable) {
  lapidary_table* table = nullptr;
  const std::string kernel = "multistage_128x256x32_s4_f32";
  ASSERT_EQ(lapidary_table_create(("f32-RRR 24x24x24 " + kernel).c_str(), &table), LAPIDARY_SUCCESS)
      << lapidary_last_error();
  lapidary_options options = {};
  options.size = sizeof(options);
  options.table = table;
  lapidary_plan* plan = planned(options);
  ASSERT_TRUE(plan);
  lapidary_table_destroy(table);
  EXPECT_EQ(info_of(plan).kernel, kernel);
  lapidary_plan_destroy(plan);
  EXPECT_EQ(lapidary_table_create("f32-RRR 24x24x24", &table), LAPIDARY_INVALID_ARGUMENT);
  EXPECT_STREQ(lapidary_last_refusal(), "table.form");
  lapidary_table_destroy(nullptr);
}

#if LAPIDARY_WITH_INSTRUMENTED
TEST_F(CFace, TellsOfKernelsThatWereStopped) {
  void* weights = nullptr;
  ASSERT_EQ(lapidary_allocate(context_, (side * side - 1) * 4, &weights), LAPIDARY_SUCCESS);
  const lapidary_matrix a = matrix(0), b = matrix(1), d = matrix(3),
                        short_b = lapidary_row_major(weights, LAPIDARY_F32, side, side);
  EXPECT_EQ(lapidary_gemm(context_, nullptr, 1, &a, &short_b, 0, nullptr, &d, nullptr), LAPIDARY_KERNEL_FAULT);
  // The line comes from the debug information beside the library.
  for (const char* const told : {"out-of-bounds", "src/kernels/", ".cuh:"})
    EXPECT_NE(std::string(lapidary_last_error()).find(told), std::string::npos) << lapidary_last_error();
  EXPECT_STREQ(lapidary_last_refusal(), "");
  EXPECT_EQ(lapidary_gemm(context_, nullptr, 1, &a, &b, 0, nullptr, &d, nullptr), LAPIDARY_SUCCESS);
  for (const float result : results()) ASSERT_EQ(result, side);
  EXPECT_EQ(lapidary_free(context_, weights), LAPIDARY_SUCCESS);
}
#endif

TEST_F(CFace, AddsUpIntegersAsTheyAre) {
  std::vector<std::int8_t> elements(side * side, -100);
  ASSERT_EQ(lapidary_upload(context_, memory_[0], elements.data(), elements.size()), LAPIDARY_SUCCESS);
  const lapidary_matrix a = lapidary_row_major(memory_[0], LAPIDARY_S8, side, side),
                        d = lapidary_row_major(memory_[3], LAPIDARY_S32, side, side);
  ASSERT_EQ(lapidary_gemm(context_, nullptr, 1, &a, &a, 0, nullptr, &d, nullptr), LAPIDARY_SUCCESS)
      << lapidary_last_error();
  std::vector<std::int32_t> found(side * side);
  ASSERT_EQ(lapidary_download(context_, found.data(), memory_[3], side * side * 4), LAPIDARY_SUCCESS);
  for (const std::int32_t result : found) ASSERT_EQ(result, side * 10000);
  EXPECT_EQ(lapidary_gemm(context_, nullptr, 2, &a, &a, 0, nullptr, &d, nullptr), LAPIDARY_INVALID_ARGUMENT);
  EXPECT_STREQ(lapidary_last_refusal(), "factor.s32");
  EXPECT_EQ(lapidary_gemm(context_, nullptr, 1, &d, &d, 0, nullptr, &d, nullptr), LAPIDARY_INVALID_ARGUMENT);
  EXPECT_STREQ(lapidary_last_refusal(), "type.value");
}

TEST_F(CFace, AppliesEpilogues) {
  const lapidary_matrix a = matrix(0), b = matrix(1), c = matrix(2), d = matrix(3);
  lapidary_epilogue epilogue = {};
  epilogue.size = sizeof(epilogue);
  epilogue.bias = LAPIDARY_BIAS_OF_ROWS;
  epilogue.bias_data = memory_[2];
  epilogue.activation = LAPIDARY_RELU;
  epilogue.scales = 1;
  epilogue.scale = 0.5F;
  epilogue.residual = &c;
  epilogue.alpha = static_cast<const float*>(memory_[0]);
  epilogue.beta = static_cast<const float*>(memory_[1]);
  lapidary_options options = {};
  options.size = sizeof(options);
  options.epilogue = &epilogue;
  const auto gemm = [&] { return lapidary_gemm(context_, nullptr, 9, &a, &b, 9, &c, &d, &options); };
  ASSERT_EQ(gemm(), LAPIDARY_SUCCESS) << lapidary_last_error();
  for (const float result : results()) ASSERT_EQ(result, (side + 1 + 1) * 0.5F + 1);
  epilogue.clamps = 1;
  epilogue.high = 12.5F;
  ASSERT_EQ(gemm(), LAPIDARY_SUCCESS) << lapidary_last_error();
  for (const float result : results()) ASSERT_EQ(result, 12.5F);
  epilogue.activation = static_cast<lapidary_activation>(5);
  EXPECT_EQ(gemm(), LAPIDARY_INVALID_ARGUMENT);
  EXPECT_STREQ(lapidary_last_error(), "the activation has value 5; values are 0 to 4");
  epilogue.size = 8;
  EXPECT_EQ(gemm(), LAPIDARY_INVALID_ARGUMENT);
  EXPECT_EQ(lapidary_last_error(),
            "the size of the epilogue is 8; it must be sizeof(lapidary_epilogue), " + std::to_string(sizeof(epilogue)));
}

TEST_F(CFace, MultipliesMatricesThatLieAnywhere) {
  // All in one piece of memory, at addresses of different alignments.
  constexpr int M = 2, N = 5, K = 3, count = 3, elements = side * side;
  const auto device = lapidary::open_emulator();
  lapidary::Context context(*device);
  const lapidary::DeviceBuffer buffer(*device, elements * sizeof(float), "operands");
  std::vector<float> values(elements);
  for (int i = 0; i < elements; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i * 7 % 23 - 11);
  device->upload(buffer.data(), values.data(), buffer.bytes());
  ASSERT_EQ(lapidary_upload(context_, memory_[0], values.data(), elements * sizeof(float)), LAPIDARY_SUCCESS);

  const auto list_of = [&](void* memory, int operand) {
    std::array<void*, count> all;
    for (int i = 0; i < count; ++i)
      all[static_cast<std::size_t>(i)] = static_cast<float*>(memory) + operand * 23 + i * 151;
    return all;
  };
  const auto A = list_of(memory_[0], 0), B = list_of(memory_[0], 1), C = list_of(memory_[0], 2),
             D = list_of(memory_[0], 3), residuals = list_of(memory_[0], 4), biases = list_of(memory_[0], 5);
  const lapidary_matrix a = lapidary_row_major(nullptr, LAPIDARY_F32, M, K),
                        b = lapidary_column_major(nullptr, LAPIDARY_F32, K, N),
                        d = lapidary_row_major(nullptr, LAPIDARY_F32, M, N);
  lapidary_epilogue epilogue = {};
  epilogue.size = sizeof(epilogue);
  epilogue.bias = LAPIDARY_BIAS_OF_COLUMNS;
  epilogue.residual = &d;
  lapidary_options options = {};
  options.size = sizeof(options);
  options.epilogue = &epilogue;
  lapidary_list list = {};
  list.size = sizeof(list);
  list.count = count;
  list.A = A.data();
  list.B = B.data();
  list.C = C.data();
  list.D = D.data();
  list.residual = residuals.data();
  list.bias = biases.data();
  const auto gemm = [&](float beta) {
    return lapidary_gemm_list(context_, nullptr, 2, &a, &b, beta, &d, &d, &options, &list);
  };
  ASSERT_EQ(gemm(-3), LAPIDARY_SUCCESS) << lapidary_last_error();

  // The same by the C++ functions.
  const auto there = [&](int operand) { return list_of(buffer.data(), operand); };
  const auto view = [&](int operand, int rows, int cols) {
    return lapidary::row_major_view(there(operand)[0], lapidary::Type::f32, rows, cols);
  };
  auto [problem, first] = lapidary::product_of(
      2, view(0, M, K), lapidary::column_major_view(there(1)[0], lapidary::Type::f32, K, N), -3, view(2, M, N),
      view(3, M, N), {.bias = lapidary::Bias::of_columns, .bias_data = there(5)[0], .residual = view(4, M, N)});
  problem.aligned = {4, 4, 4, 4};
  std::vector<lapidary::Operands> products(count, first);
  for (std::size_t i = 0; i < count; ++i) {
    products[i].A = there(0)[i];
    products[i].B = there(1)[i];
    products[i].C = there(2)[i];
    products[i].D = there(3)[i];
    products[i].residual = there(4)[i];
    products[i].bias = there(5)[i];
  }
  context.run(context.plan(problem), device->stream(), products);
  std::vector<float> expected(elements), found(elements);
  device->download(expected.data(), buffer.data(), buffer.bytes());
  ASSERT_EQ(lapidary_download(context_, found.data(), memory_[0], elements * sizeof(float)), LAPIDARY_SUCCESS);
  EXPECT_EQ(found, expected);
  EXPECT_NE(found, values);

  const auto expect = [&](lapidary_status status, const char* refusal, const std::string& message) {
    EXPECT_EQ(status, LAPIDARY_INVALID_ARGUMENT);
    EXPECT_STREQ(lapidary_last_refusal(), refusal);
    EXPECT_EQ(lapidary_last_error(), message);
  };
  expect(lapidary_gemm_list(context_, nullptr, 2, &a, &b, 0, &d, &d, &options, nullptr), "argument.null",
         "the list is null; it must point to something");
  list.C = nullptr;
  expect(gemm(1), "argument.null",
         "the array of addresses of C, which is read as beta is not 0, is null; it must point to something");
  EXPECT_EQ(gemm(0), LAPIDARY_SUCCESS) << lapidary_last_error();
  const std::array<void*, count> mixed = {C[0], D[1], C[2]}, missing = {A[0], A[1], nullptr};
  list.C = mixed.data();
  expect(gemm(1), "in_place.address",
         "of product 1 of the list D is C, of product 0 it is not; it must be of all or of none");
  list.A = missing.data();
  expect(gemm(0), "pointer.null", "product 2 of the list: A is null; it must point to 2 x 3 elements");
  list.A = nullptr;
  expect(gemm(0), "argument.null", "the array of addresses of A is null; it must point to something");
  list.count = 0;
  EXPECT_EQ(gemm(0), LAPIDARY_SUCCESS) << "there is nothing to do";
  list.count = -1;
  expect(gemm(0), "batch.count", "the list is of -1 products; there must be 0 or more");
  list.A = A.data();
  list.count = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(gemm(0), LAPIDARY_OUT_OF_MEMORY);
  lapidary_matrix two = d;
  two.count = 2;
  expect(lapidary_gemm_list(context_, nullptr, 2, &a, &b, 0, nullptr, &two, nullptr, &list), "batch.matrices",
         "there are 2 matrices D for each product of the list; there must be 1");
  list.size = 1;
  expect(gemm(0), "argument.options",
         "the size of the list is 1; it must be sizeof(lapidary_list), " + std::to_string(sizeof(list)));
}

TEST_F(CFace, MultipliesGroupsOfRows) {
  constexpr int M = 12, N = 8, K = 8, groups = 2;
  // Halves of 1 and of 2: row i of A has i of them, and B number g is g + 1 throughout.
  const auto half = [](int value) { return lapidary::from_float<lapidary::f16>(static_cast<float>(value)); };
  std::vector<lapidary::f16> values;
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k) values.push_back(half(k < i ? 1 : 0));
  for (int g = 0; g < groups; ++g)
    for (int k = 0; k < K * N; ++k) values.push_back(half(g + 1));
  const std::size_t d_at = values.size();
  values.resize(d_at + M * N, half(99));
  const std::int64_t ends[groups] = {5, 11};
  void *memory = nullptr, *ends_memory = nullptr;
  ASSERT_EQ(lapidary_allocate(context_, values.size() * sizeof(values[0]), &memory), LAPIDARY_SUCCESS);
  ASSERT_EQ(lapidary_allocate(context_, sizeof(ends), &ends_memory), LAPIDARY_SUCCESS);
  ASSERT_EQ(lapidary_upload(context_, memory, values.data(), values.size() * sizeof(values[0])), LAPIDARY_SUCCESS);
  ASSERT_EQ(lapidary_upload(context_, ends_memory, ends, sizeof(ends)), LAPIDARY_SUCCESS);
  auto* const first = static_cast<lapidary::f16*>(memory);
  const lapidary_matrix a = lapidary_row_major(first, LAPIDARY_F16, M, K),
                        d = lapidary_row_major(first + d_at, LAPIDARY_F16, M, N);
  lapidary_matrix b = lapidary_row_major(first + M * K, LAPIDARY_F16, K, N);
  b.count = groups;
  b.batch_stride = K * N;
  const auto gemm = [&](const lapidary_options* options) {
    return lapidary_gemm_grouped(context_, nullptr, 2, &a, &b, 0, nullptr, &d, options,
                                 static_cast<const std::int64_t*>(ends_memory), groups);
  };
  ASSERT_EQ(gemm(nullptr), LAPIDARY_SUCCESS) << lapidary_last_error();
  ASSERT_EQ(lapidary_download(context_, values.data(), memory, values.size() * sizeof(values[0])), LAPIDARY_SUCCESS);
  for (int i = 0; i < M; ++i) {
    const int expected = i < 5 ? 2 * i : i < 11 ? 4 * std::min(i, K) : 99;
    for (int j = 0; j < N; ++j)
      ASSERT_EQ(lapidary::to_float(values[d_at + static_cast<std::size_t>(i * N + j)]), expected) << i << ", " << j;
  }
  lapidary_epilogue epilogue = {};
  epilogue.size = sizeof(epilogue);
  epilogue.activation = LAPIDARY_RELU;
  lapidary_options options = {};
  options.size = sizeof(options);
  options.epilogue = &epilogue;
  EXPECT_EQ(gemm(&options), LAPIDARY_INVALID_ARGUMENT);
  EXPECT_STREQ(lapidary_last_refusal(), "groups.kind");
  EXPECT_EQ(lapidary_free(context_, memory), LAPIDARY_SUCCESS);
  EXPECT_EQ(lapidary_free(context_, ends_memory), LAPIDARY_SUCCESS);
}

TEST_F(CFace, FreesAndCopiesNothingButWhatItAllocated) {
  const auto expect = [&](lapidary_status status, const char* rule, const std::string& message) {
    EXPECT_EQ(status, LAPIDARY_INVALID_ARGUMENT);
    EXPECT_STREQ(lapidary_last_refusal(), rule);
    EXPECT_NE(std::string(lapidary_last_error()).find(message), std::string::npos) << lapidary_last_error();
  };
  constexpr std::size_t bytes = 100;
  void* memory = nullptr;
  ASSERT_EQ(lapidary_allocate(context_, bytes, &memory), LAPIDARY_SUCCESS);
  std::array<char, bytes + 1> host;
  host.fill('x');
  char* const last = static_cast<char*>(memory) + bytes - 1;
  EXPECT_EQ(lapidary_upload(context_, memory, host.data(), bytes), LAPIDARY_SUCCESS);
  EXPECT_EQ(lapidary_upload(context_, last, host.data(), 1), LAPIDARY_SUCCESS);
  expect(lapidary_upload(context_, memory, host.data(), bytes + 1), "argument.copy",
         "and the memory there has 100 bytes from there to its end; it must have the 101 that are to be copied");
  expect(lapidary_download(context_, host.data(), last, 2), "argument.copy", "has 1 bytes from there to its end");
  expect(lapidary_download(context_, host.data(), last + 1, 1), "argument.copy",
         "is none that lapidary_allocate() gave");
  expect(lapidary_upload(context_, host.data(), memory, 1), "argument.copy", "is none that lapidary_allocate() gave");
  expect(lapidary_free(context_, last), "argument.memory", "where there is none to free");
  expect(lapidary_free(context_, host.data()), "argument.memory", "where there is none to free");
  lapidary_context* other = nullptr;
  ASSERT_EQ(lapidary_create(LAPIDARY_EMULATED, &other), LAPIDARY_SUCCESS);
  expect(lapidary_free(other, memory), "argument.memory", "where there is none to free");
  lapidary_destroy(other);
  EXPECT_EQ(lapidary_free(context_, memory), LAPIDARY_SUCCESS);
  expect(lapidary_free(context_, memory), "argument.memory", "where there is none to free");
  expect(lapidary_download(context_, host.data(), memory, 1), "argument.copy", "is none that lapidary_allocate() gave");
  EXPECT_EQ(lapidary_free(context_, nullptr), LAPIDARY_SUCCESS);
}

/// Arguments of C functions by chance: right ones, of which some are changed to what they must not be.
class CFaceByChance : public CFace {
 protected:
  struct Arguments {
    std::array<lapidary_matrix, 4> x;
    std::array<const lapidary_matrix*, 4> given;
    float alpha, beta;
    lapidary_epilogue epilogue;
    lapidary_options options;
    const lapidary_options* given_options;
  };

  bool one_in(unsigned many) { return random_() % many == 0; }
  template <class List>
  auto pick(const List& list) {
    return list[random_() % std::size(list)];
  }
  int around(int values) { return static_cast<int>(random_() % static_cast<unsigned>(values + 2)) - 1; }

  /// Of structs that tell theirs.
  std::size_t size(std::size_t right) {
    const std::size_t sizes[] = {0, 1, right - 1, right + 1, right + 8, std::numeric_limits<std::size_t>::max()};
    return one_in(40) ? pick(sizes) : right;
  }

  /// Writes arguments to a place where they point to one another.
  void fill(Arguments& a) {
    constexpr std::int64_t numbers[] = {0, 1, -1, 2, side, side - 1, side + 1, 1 << 20, most, -most, most / 4 + 1};
    a.x = {matrix(0), matrix(1), matrix(2), matrix(3)};
    a.given = {&a.x[0], &a.x[1], &a.x[2], &a.x[3]};
    for (int change = static_cast<int>(random_() % 4); change > 0; --change) {
      lapidary_matrix& of = a.x[random_() % 4];
      switch (random_() % 10) {
        case 0: of.data = nullptr; break;
        case 1: of.type = static_cast<lapidary_type>(one_in(2) ? around(7) : pick(unknown_types)); break;
        case 2: of.rows = pick(numbers); break;
        case 3: of.cols = pick(numbers); break;
        case 4: of.row_stride = pick(numbers); break;
        case 5: of.col_stride = pick(numbers); break;
        case 6: of.count = pick(numbers); break;
        case 7: of.batch_stride = pick(numbers); break;
        case 8: a.given[random_() % 4] = nullptr; break;
        default: of.data = a.x[random_() % 4].data;
      }
    }
    // A batch of so many would take as many launches.
    if (a.x[3].count > 100) a.x[3].count = 1;
    const float factors[] = {0, 1, -2, std::numeric_limits<float>::quiet_NaN()};
    a.alpha = pick(factors);
    a.beta = pick(factors);
    a.epilogue = {};
    a.epilogue.size = size(sizeof(a.epilogue));
    if (one_in(4)) {
      a.epilogue.bias = static_cast<lapidary_bias>(around(3));
      a.epilogue.bias_data = one_in(4) ? nullptr : pick(memory_);
      a.epilogue.activation = static_cast<lapidary_activation>(around(5));
      a.epilogue.scales = one_in(2);
      a.epilogue.scale = pick(factors);
      a.epilogue.residual = one_in(2) ? &a.x[random_() % 4] : nullptr;
      a.epilogue.clamps = one_in(2);
      a.epilogue.low = pick(factors);
      a.epilogue.high = pick(factors);
      if (one_in(4)) a.epilogue.alpha = static_cast<const float*>(memory_[2]);
      if (one_in(4)) a.epilogue.beta = static_cast<const float*>(memory_[2]);
    }
    a.options = {};
    a.options.size = size(sizeof(a.options));
    a.options.epilogue = one_in(2) ? &a.epilogue : nullptr;
    if (one_in(4)) {
      a.options.workspace_bytes = pick(sizes);
      a.options.no_workspace = around(2);
      a.options.batch_invariant = around(2);
      a.options.fast_accumulation = around(2);
      const char* const kernels[] = {nullptr, "", "none", "naive_32x32_f32", "multistage_128x128x32_s3_f32"};
      a.options.kernel = pick(kernels);
      a.options.prepared_a = around(2);
      a.options.prepared_b = around(2);
    }
    a.given_options = one_in(10) ? nullptr : &a.options;
  }

  /// Any context but one that has ended. Null is the one of a GPU, whose memory this is not.
  lapidary_context* context() { return one_in(50) && lapidary_gpu_count() == 0 ? nullptr : context_; }

  /// Counts what succeeded, and holds the others to what lapidary.h says.
  void expect_documented(lapidary_status status) {
    if (status == LAPIDARY_SUCCESS) {
      ++succeeded_;
      return;
    }
    ASSERT_TRUE(status == LAPIDARY_INVALID_ARGUMENT || status == LAPIDARY_KERNEL_FAULT ||
                status == LAPIDARY_OUT_OF_MEMORY)
        << status << ": " << lapidary_last_error();
    ASSERT_STRNE(lapidary_last_error(), "");
    ASSERT_EQ(status == LAPIDARY_INVALID_ARGUMENT, *lapidary_last_refusal() != 0) << lapidary_last_error();
  }

  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  static constexpr int unknown_types[] = {LAPIDARY_E5M2, LAPIDARY_F64, 99, -99, std::numeric_limits<int>::max()};
  static constexpr std::size_t bytes = side * side * 4;
  static constexpr std::size_t sizes[] = {
      0, 1, bytes - 1, bytes, bytes + 1, 1 << 20, std::size_t{1} << 60, std::numeric_limits<std::size_t>::max()};
  static constexpr std::size_t large_bytes = 1 << 20;

  void SetUp() override {
    CFace::SetUp();
    ASSERT_EQ(lapidary_allocate(context_, large_bytes, &large_), LAPIDARY_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(lapidary_free(context_, large_), LAPIDARY_SUCCESS);
    CFace::TearDown();
  }

  std::mt19937 random_{11};
  void* large_ = nullptr;
  int succeeded_ = 0;
};

TEST_F(CFaceByChance, Multiplies) {
  Arguments a;
  for (int round = 0; round < 2000 && !HasFatalFailure(); ++round) {
    fill(a);
    void* const stream = one_in(50) ? &a : nullptr;
    expect_documented(lapidary_gemm(context(), stream, a.alpha, a.given[0], a.given[1], a.beta, a.given[2], a.given[3],
                                    a.given_options));
  }
  EXPECT_GT(succeeded_, 300);
}

TEST_F(CFaceByChance, MultipliesLists) {
  Arguments a;
  for (int round = 0; round < 1000 && !HasFatalFailure(); ++round) {
    fill(a);
    std::array<std::array<void*, 2>, 6> addresses;
    for (std::size_t operand = 0; operand < addresses.size(); ++operand)
      for (void*& address : addresses[operand]) {
        address = memory_[std::min<std::size_t>(operand, 3)];
        if (one_in(40)) address = one_in(2) ? pick(memory_) : static_cast<char*>(address) + random_() % 8;
        if (one_in(60)) address = nullptr;
      }
    const auto array = [&](std::size_t operand) { return one_in(50) ? nullptr : addresses[operand].data(); };
    lapidary_list list = {};
    list.size = size(sizeof(list));
    const std::int64_t counts[] = {0, -1, -most, most, most / 64};  // of which there is no array, nor room for one
    list.count = one_in(10) ? pick(counts) : 1 + static_cast<std::int64_t>(one_in(2));
    list.A = array(0);
    list.B = array(1);
    list.C = array(2);
    list.D = array(3);
    if (one_in(2)) list.bias = array(4);
    if (one_in(2)) list.residual = array(5);
    expect_documented(lapidary_gemm_list(context(), one_in(50) ? &a : nullptr, a.alpha, a.given[0], a.given[1], a.beta,
                                         a.given[2], a.given[3], a.given_options, one_in(50) ? nullptr : &list));
  }
  EXPECT_GT(succeeded_, 100);
}

TEST_F(CFaceByChance, Explains) {
  Arguments a;
  for (int round = 0; round < 1000 && !HasFatalFailure(); ++round) {
    fill(a);
    std::array<char, 500> id, why;
    id.fill('x');
    why.fill('x');
    const std::size_t lengths[] = {0, 1, 8, id.size() - 1};
    const std::size_t length = pick(lengths);
    expect_documented(lapidary_explain(context(), a.alpha, a.given[0], a.given[1], a.beta, a.given[2], a.given[3],
                                       a.given_options, one_in(10) ? nullptr : id.data(),
                                       one_in(10) ? nullptr : why.data(), length));
    for (const auto& text : {id, why}) {
      ASSERT_TRUE(std::all_of(text.begin() + static_cast<std::ptrdiff_t>(length), text.end(),
                              [](char letter) { return letter == 'x'; }))
          << "beyond the " << length << " bytes that there were";
    }
  }
  EXPECT_GT(succeeded_, 200);
}

TEST_F(CFaceByChance, RunsPlans) {
  Arguments a;
  const std::array<float, 2> limits = {-1, 1};
  lapidary_plan* plan = nullptr;
  for (int round = 0; round < 1000 && !HasFatalFailure(); ++round) {
    fill(a);
    lapidary_plan* const before = plan;
    const char* const cards[] = {nullptr, nullptr, nullptr, "h200", "a100 pcie 80gb", "a100", ""};
    const lapidary_status made = lapidary_plan_create(context(), pick(cards), a.alpha, a.given[0], a.given[1], a.beta,
                                                      a.given[2], a.given[3], a.given_options,
                                                      one_in(40) ? nullptr : &plan);
    expect_documented(made);
    ASSERT_EQ(made == LAPIDARY_SUCCESS, plan != before) << "touched only if it succeeds";
    if (plan != before) lapidary_plan_destroy(before);
    lapidary_plan_info info = {};
    info.size = size(sizeof(info));
    expect_documented(lapidary_plan_describe(one_in(40) ? nullptr : plan, one_in(40) ? nullptr : &info));
    if (!plan) continue;
    if (info.id && one_in(4)) {
      std::string id = info.id;
      if (one_in(2)) id[random_() % id.size()] = "0129.-xRC"[random_() % 9];
      lapidary_plan* again = nullptr;
      expect_documented(lapidary_plan_from_id(one_in(40) ? nullptr : id.c_str(), &again));
      lapidary_plan_destroy(again);
    }
    // Copies of matrices of this size fit.
    expect_documented(lapidary_prepare(context(), plan, one_in(50) ? &a : nullptr,
                                       static_cast<lapidary_operand>(around(2)), one_in(40) ? nullptr : pick(memory_),
                                       one_in(40) ? nullptr : large_));
    lapidary_operands at = operands_at(memory_[0], memory_[1], memory_[2], memory_[3]);
    at.size = size(sizeof(at));
    if (one_in(10)) at.A = one_in(2) ? nullptr : pick(memory_);
    if (one_in(10)) at.B = one_in(2) ? nullptr : static_cast<char*>(memory_[1]) + random_() % 8;
    if (one_in(10)) at.D = one_in(2) ? nullptr : pick(memory_);
    if (one_in(2)) at.prepared_a = at.prepared_b = large_;
    if (one_in(4)) at.bias = one_in(2) ? memory_[2] : static_cast<char*>(memory_[2]) + 2;
    if (one_in(4)) at.residual = pick(memory_);
    if (one_in(4)) at.scale = &a.epilogue.scale;
    if (one_in(4)) at.limits = limits.data();
    if (one_in(4)) at.device_alpha = static_cast<const float*>(memory_[2]);
    void* const workspaces[] = {nullptr, large_, static_cast<char*>(large_) + 8};
    expect_documented(lapidary_run(context(), plan, one_in(50) ? &a : nullptr, a.alpha, a.beta,
                                   one_in(40) ? nullptr : &at, pick(workspaces)));
  }
  lapidary_plan_destroy(plan);
  EXPECT_GT(succeeded_, 1000);
}

TEST_F(CFaceByChance, AllocatesFreesAndCopies) {
  std::vector<void*> live, gone;
  std::vector<char> host(1 << 20);
  const auto address = [&]() -> void* {
    switch (random_() % 6) {
      case 0: return nullptr;
      case 1: return host.data();
      case 2: return reinterpret_cast<void*>(~std::uintptr_t{0});
      case 3: return gone.empty() ? nullptr : pick(gone);
      case 4: return static_cast<char*>(pick(memory_)) + pick(sizes);
      default: return live.empty() ? pick(memory_) : pick(live);
    }
  };
  for (int round = 0; round < 4000 && !HasFatalFailure(); ++round) {
    const std::size_t length = pick(sizes);
    switch (random_() % 5) {
      case 0: {
        void* const before = host.data();
        void* memory = before;
        const lapidary_status status = lapidary_allocate(context(), length, one_in(10) ? nullptr : &memory);
        expect_documented(status);
        ASSERT_EQ(status == LAPIDARY_SUCCESS, memory != before) << "touched only if it succeeds";
        if (memory == before) break;
        live.push_back(memory);
        std::erase(gone, memory);
        break;
      }
      case 1: {
        void* memory = address();
        while (std::find(memory_.begin(), memory_.end(), memory) != memory_.end()) memory = address();
        const bool allocated = std::find(live.begin(), live.end(), memory) != live.end();
        const lapidary_status status = lapidary_free(context(), memory);
        expect_documented(status);
        if (status != LAPIDARY_SUCCESS || !memory) break;
        ASSERT_TRUE(allocated) << "it is no memory, or was freed before";
        std::erase(live, memory);
        gone.push_back(memory);
        break;
      }
      case 2:
        expect_documented(lapidary_upload(context(), address(), one_in(9) ? nullptr : host.data(), length));
        break;
      case 3:
        expect_documented(lapidary_download(context(), one_in(9) ? nullptr : host.data(), address(), length));
        break;
      default: expect_documented(lapidary_synchronize(context()));
    }
  }
  for (void* const memory : live) EXPECT_EQ(lapidary_free(context_, memory), LAPIDARY_SUCCESS);
  EXPECT_GT(succeeded_, 500);
}

TEST_F(CFaceByChance, CreatesAndClears) {
  for (int round = 0; round < 100 && !HasFatalFailure(); ++round) {
    const int devices[] = {-1, LAPIDARY_GPU, LAPIDARY_EMULATED, LAPIDARY_CHECKED, 3, std::numeric_limits<int>::min()};
    lapidary_context* const before = context_;
    lapidary_context* made = before;
    const lapidary_status status = lapidary_create(static_cast<lapidary_device>(pick(devices)),
                                                   one_in(5) ? nullptr : &made);
    expect_documented(status);
    ASSERT_EQ(status == LAPIDARY_SUCCESS, made != before) << "touched only if it succeeds";
    expect_documented(lapidary_clear(one_in(2) ? nullptr : made));
    lapidary_destroy(made == before ? nullptr : made);
  }
  EXPECT_STREQ(lapidary_version(), LAPIDARY_VERSION);
}

}  // namespace
