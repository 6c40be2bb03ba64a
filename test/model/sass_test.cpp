// Records of machine code: their reading, and the ways that warps take through them.
#include "model/sass.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "kernels/registry.hpp"
#include "kernels/sources.hpp"
#include "model/program.hpp"

namespace lapidary::model {
namespace {

constexpr const char* loop_with_a_branch = R"(# kernel: example
# tile: 8x8x2
# registers: 40

// src/kernels/simt/example.cuh:12
  B------:R-:W-:-:S01  0000  S2R R0, SR_TID.X
L0:
  B0-----:R-:W1:Y:S04  0010  @!P0 BRA L1
// src/kernels/simt/example.cuh:13
  B------:R-:W2:-:S02  0020  LDG.E.128 R4, desc[UR4][R2.64]
L1:
  B--2---:R3:W-:-:S01  0030  FFMA R8, R4, R5.reuse, R8
  B------:R-:W-:-:S01  0040  FFMA R9, R6, R5, R9
  B------:R-:W-:-:S01  0050  @!PT LDS RZ, [RZ]
  B------:R-:W-:Y:S05  0060  @P1 BRA L0
  B------:R-:W-:-:S01  0070  STG.E.128 desc[UR4][R2.64], R8
  B------:R-:W-:Y:S05  0080  EXIT
)";

TEST(Sass, ControlBitsOpcodesAndLinesAreRead) {
  const CompiledKernel kernel = parse_sass(loop_with_a_branch, "example.sass");
  EXPECT_EQ(kernel.kernel, "example");
  EXPECT_EQ(kernel.registers, 40);
  ASSERT_EQ(kernel.instructions.size(), 9u);
  const MachineInstruction& branch = kernel.instructions[1];
  EXPECT_EQ(branch.wait, 1u);
  EXPECT_EQ(branch.write_barrier, 1);
  EXPECT_EQ(branch.read_barrier, -1);
  EXPECT_EQ(branch.stall, 4);
  EXPECT_TRUE(branch.conditional);
  EXPECT_EQ(branch.target, 3);
  const MachineInstruction& load = kernel.instructions[2];
  EXPECT_EQ(load.opcode, "LDG.E.128");
  EXPECT_EQ(load.bytes, 16);
  EXPECT_EQ(load.file, "src/kernels/simt/example.cuh");
  EXPECT_EQ(load.line, 13);
  EXPECT_TRUE(kernel.instructions[5].never);
  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_EQ(kernel.main_loop()->first, 1);
  EXPECT_EQ(kernel.main_loop()->last, 6);
}

TEST(Sass, WhatIsNoRecordIsRefusedWithItsLine) {
  const auto refusal = [](const char* text) {
    try {
      parse_sass(text, "x.sass");
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_TRUE(refusal("# kernel: x\nnonsense\n").starts_with("x.sass:2: neither"))
      << refusal("# kernel: x\nnonsense\n");
  EXPECT_TRUE(refusal("").find("no instructions") != std::string::npos);
  EXPECT_TRUE(refusal("  B------:R-:W-:-:S05  0000  @P0 BRA L7\n").find("no label L7") != std::string::npos);
}

TEST(Program, WarpsThatLoadLessTakeTheOtherBranch) {
  const CompiledKernel kernel = parse_sass(loop_with_a_branch, "example.sass");
  ThreadWork work{.fma = 200, .fma_per_tile = 2, .loads_per_tile = 0.25, .cost = [](InstructionClass, int) {
                    return AccessCost{};
                  }};
  const KernelProgram program = program_of(kernel, work);
  EXPECT_EQ(program.fma_per_iteration, 2);
  EXPECT_DOUBLE_EQ(program.iterations, 100);
  ASSERT_EQ(program.programs.size(), 2u);
  EXPECT_DOUBLE_EQ(program.programs[0].share, 0.25);
  EXPECT_EQ(program.programs[0].loop.size(), 6u);
  EXPECT_EQ(program.programs[1].loop.size(), 5u);
  EXPECT_EQ(program.programs[0].prologue.size(), 1u);
  EXPECT_EQ(program.programs[0].epilogue.size(), 2u);
}

TEST(Program, OperandsInTheReuseCacheAreNotRead) {
  const auto reads = bank_reads(parse_sass(loop_with_a_branch, "example.sass").instructions);
  EXPECT_EQ(reads[3], (std::array<int, 2>{2, 1}));  // R4 and R8 are even, R5 is odd
  EXPECT_EQ(reads[4], (std::array<int, 2>{1, 1}));  // R5 was kept in the same place
  EXPECT_EQ(reads[2], (std::array<int, 2>{0, 0}));
}

TEST(Records, AreThereForEveryVariantAndOfItsSource) {
  for (const Rung& rung : ladder()) {
    for (const RungVariant& variant : rung.variants) {
      const auto compiled = find_compiled(rung.name(), to_string(variant.tile));
      ASSERT_TRUE(compiled) << rung.name() << " " << to_string(variant.tile);
      EXPECT_EQ(compiled->source_hash, rung_source_hash(rung.name())) << rung.name() << ": run script/compiled";
      EXPECT_TRUE(compiled->main_loop()) << rung.name();
      EXPECT_GT(compiled->registers, 0);
    }
  }
}

// Two orders of the loops over the thread's rows and the tile's columns; nvcc does not make the same of them.
TEST(Records, ShowWhatTheCompilerMakesOfTheOrderOfTwoLoops) {
  const auto loads = [](const char* name) {
    const CompiledKernel kernel = *find_compiled(name, "64x64x8");
    int count = 0;
    for (int i = kernel.main_loop()->first; i <= kernel.main_loop()->last; ++i)
      count += kernel.instructions[static_cast<std::size_t>(i)].kind == InstructionClass::shared_load;
    return count;
  };
  EXPECT_EQ(loads("thread_tiles_1d"), 32);
  EXPECT_EQ(loads("thread_tiles_1d_swapped"), 24);
}

}  // namespace
}  // namespace lapidary::model
