// What lapidary/gemm.hpp declares, and what its users call of the headers that it includes, is found in the shared
// library.
#include <lapidary/gemm.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "expect.hpp"

namespace {

using namespace lapidary;

/// Whether it is refused by a rule of that id.
template <class Call>
bool refused(const char* id, Call&& call) {
  try {
    call();
  } catch (const Refusal& refusal) {
    return std::string_view(refusal.id()) == id;
  }
  return false;
}

void describe_problems() {
  const Problem problem = resolved({.kind = parse_kind("bf16/f32 RC"),
                                    .M = 4,
                                    .N = 5,
                                    .K = 6,
                                    .beta = Factor::any,
                                    .epilogue = parse_epilogue("bias_of_columns-residual")});
  validate(problem);
  expect(problem.reads_c() && problem.lda == 6 && problem.ldb == 6, "what is left out is filled in");
  expect(to_string(problem.kind) == "bf16/f32 RC" && to_string(problem.epilogue) == "bias_of_columns-residual" &&
             parse_type("e4m3") == Type::e4m3,
         "texts are read as they are written");
  const MatrixShape b = shape_of(problem, Matrix::B), residual = shape_of_residual(problem);
  expect(!b.empty() && b.lines() == 5 && b.length() == 6 && b.extent() == 30 && b.bytes() == 60 && residual.ld == 5 &&
             bias_length(problem) == 5,
         "matrices are as large as the problem says");
  expect(name_of(Matrix::D) == std::string_view("D") && name_of(Factor::any) == std::string_view("any number"),
         "they have names");

  alignas(256) static std::array<std::byte, 256> memory;
  Operands operands = {.A = memory.data() + 2, .D = memory.data() + 4};
  expect(operands[Matrix::D] == operands.D && with_known(problem, operands).aligned.A == 2, "addresses are looked at");
  expect(refused("pointer.null", [&] { validate({.M = 1, .N = 1, .K = 1}, {}); }), "and missed");
}

void multiply() {
  emulator::Machine machine({.count = true});
  const auto device = open_emulator(machine);
  constexpr int side = 32;
  const DeviceBuffer ones(*device, side * side * sizeof(float), "ones"),
      results(*device, side * side * sizeof(float), "results");
  std::vector<float> values(side * side, 1);
  device->upload(ones.data(), values.data(), ones.bytes());
  const ConstMatrixView a = row_major_view(static_cast<const void*>(ones.data()), Type::f32, side, side);
  const MatrixView d = row_major_view(results.data(), Type::f32, side, side);
  const auto [problem, operands] = product_of(2, a, a, 0, {}, d);
  const Plan same = plan_of(plan(problem, "h200").id());
  Context context(*device);
  context.run(same, device->stream(), operands);
  gemm(device->stream(), 2, a, a, 0, {}, d);
  device->download(values.data(), results.data(), results.bytes());
  expect(values == std::vector<float>(side * side, 2 * side), "products are right");
  emulator::Counters twice;
  for (int i = 0; i < 2; ++i) twice += machine.report().total;
  expect(twice.multiply_adds() >= 4 * side * side * side && twice.multiply_adds() % 4 == 0, "and counted");
  machine.clear_report();
  expect(machine.options().count && machine.report().total.multiply_adds() == 0, "until that is cleared");
}

void look_for_gpus() {
  const bool there = gpu_count() > 0;
  const auto answers = [&](auto&& call, bool must) {
    try {
      call();
      return true;
    } catch (const Error&) {
      return !must;
    }
  };
  expect(
      answers([] { open_gpu(); }, there) && answers([] { gpu_card(); }, there) && answers([] { current_gpu(); }, there),
      "GPUs are found, or refused where there are none");
}

}  // namespace

int main() {
  describe_problems();
  multiply();
  look_for_gpus();
  return failures != 0;
}
