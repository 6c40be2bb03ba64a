// Records of machine code and PTX: their reading, and the ways that warps take through them.
#include "model/sass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "kernels/registry.hpp"
#include "kernels/sources.hpp"
#include "model/program.hpp"

namespace lapidary::model {
namespace {

constexpr const char* loop_with_a_branch = R"(# kernel: example
# tile: 8x8x2
# registers: 40
# barriers: 2

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
  EXPECT_EQ(kernel.barriers, 2);
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

TEST(Ptx, ClassesWidthsLinesAndLoopsAreRead) {
  const CompiledKernel kernel = parse_ptx(R"(# kernel: example
# compiler: nvcc 13.0.88

// src/kernels/simt/example.cuh:12
  mov.u32 %r1, %tid.x
L0:
  cp.async.cg.shared.global [%r1], [%rd1], 16, %r2
  cp.async.commit_group
// src/kernels/simt/example.cuh:13
  @%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1]
  ld.shared.v4.u16 {%rs1, %rs2, %rs3, %rs4}, [%r1+8]
  fma.rn.f32 %f3, %f1, %f2, %f3
  cvt.f32.f16 %f4, %rs1
  setp.lt.f32 %p2, %f4, %f3
  @%p2 bra L0
  st.global.cs.f32 [%rd1], %f3
  ret
)",
                                          "example.ptx");
  ASSERT_EQ(kernel.instructions.size(), 11u);
  std::vector<InstructionClass> kinds;
  std::vector<int> bytes;
  for (const MachineInstruction& i : kernel.instructions) {
    kinds.push_back(i.kind);
    bytes.push_back(i.bytes);
  }
  using enum InstructionClass;
  EXPECT_EQ(kinds, (std::vector{special, async_copy, control, global_load, shared_load, fma, other_float, integer,
                                control, global_store, control}));
  EXPECT_EQ(bytes, (std::vector{0, 16, 0, 8, 8, 0, 0, 0, 0, 4, 0}));
  EXPECT_TRUE(kernel.instructions[3].conditional);
  EXPECT_EQ(kernel.instructions[4].line, 13);
  ASSERT_TRUE(kernel.main_loop());
  EXPECT_EQ(kernel.main_loop()->first, 1);
  EXPECT_EQ(kernel.main_loop()->last, 8);
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
  // One instruction before the loop and two behind it; three warps of four leave out the load.
  EXPECT_DOUBLE_EQ(program.pass.all(), 5.25);
  EXPECT_DOUBLE_EQ(program.pass.products(), 2);
  EXPECT_DOUBLE_EQ(program.warp.all(), 1 + 100 * 5.25 + 2);
  EXPECT_DOUBLE_EQ(program.warp.products(), 200);
  EXPECT_DOUBLE_EQ(program.warp[InstructionClass::global_load], 25);
}

constexpr const char* nested_loops = R"(# kernel: example
L0:
  B------:R-:W-:-:S01  0000  LDG.E R4, desc[UR4][R2.64]
  B------:R-:W-:-:S01  0010  STS [R6], R4
L1:
  B------:R-:W-:-:S01  0020  LDS R5, [R7]
  B------:R-:W-:-:S01  0030  FFMA R8, R4, R5, R8
  B------:R-:W-:Y:S05  0040  @P0 BRA L1
  B------:R-:W-:-:S01  0050  IADD3 R2, R2, 0x4, RZ
  B------:R-:W-:Y:S05  0060  @P1 BRA L0
  B------:R-:W-:-:S01  0070  STG.E desc[UR4][R2.64], R8
  B------:R-:W-:Y:S05  0080  EXIT
)";

// 80 multiply-adds, 16 for each tile: 5 passes of the outer loop, 16 of the inner one in each.
TEST(Program, WeighsAnInnerLoopByItsTrips) {
  const CompiledKernel kernel = parse_sass(nested_loops, "example.sass");
  EXPECT_EQ(kernel.main_loop()->first, 0);
  EXPECT_EQ(kernel.product_loop()->first, 2);
  EXPECT_EQ(kernel.product_loop()->last, 4);
  ThreadWork work{
      .fma = 80, .fma_per_tile = 16, .loads_per_tile = 1, .cost = [](InstructionClass, int) { return AccessCost{}; }};
  const KernelProgram program = program_of(kernel, work);
  EXPECT_DOUBLE_EQ(program.pass.all(), 4 + 16 * 3);
  EXPECT_DOUBLE_EQ(program.pass.products(), 16);
  EXPECT_DOUBLE_EQ(program.warp.all(), 5 * 52 + 2);
  EXPECT_DOUBLE_EQ(program.warp[InstructionClass::shared_load], 80);
}

constexpr const char* persistent = R"(# kernel: example
L0:
  B------:R-:W-:-:S01  0000  UMOV UR4, URZ
L1:
  B------:R-:W-:-:S01  0010  SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R4
  B------:R-:W-:-:S01  0020  @!P0 BRA L3
L2:
  B------:R-:W-:-:S01  0030  HGMMA.64x256x16.F32.BF16 R24, gdesc[UR16], R24, gsb0
  B------:R-:W-:-:S01  0040  @P2 BRA L4
  B------:R-:W-:-:S01  0050  UTMALDG.2D [UR8], [UR14], desc[UR16]
L4:
  B------:R-:W-:-:S01  0060  @P1 BRA L1
  B------:R-:W-:-:S01  0070  FFMA R24, R24, R2, R3
  B------:R-:W-:-:S01  0080  UTMASTG.2D [UR4], [UR8]
  B------:R-:W-:-:S01  0090  @P3 BRA L0
  B------:R-:W-:-:S01  00a0  EXIT
L3:
  B------:R-:W-:-:S01  00b0  SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R4
  B------:R-:W-:-:S01  00c0  @!P0 BRA L3
  B------:R-:W-:-:S01  00d0  BRA L2
)";

// The loop over tiles stores results, and so does what lies between a wait behind the code and where it goes back to.
TEST(Program, OfWarpgroupsIsTheLoopAroundTheirProducts) {
  const CompiledKernel kernel = parse_sass(persistent, "example.sass");
  EXPECT_TRUE(kernel.is_warpgroup());
  EXPECT_EQ(kernel.main_loop()->first, 1);
  EXPECT_EQ(kernel.main_loop()->last, 6);
  const InstructionMix pass = warpgroup_pass(kernel);
  EXPECT_DOUBLE_EQ(pass.all(), 5) << "without the bulk copy";
  EXPECT_DOUBLE_EQ(pass.products(), 1);
}

TEST(Sass, ShapesTellWhatTensorCoresMultiply) {
  const auto multiply_adds = [](const char* opcode) {
    MachineInstruction i;
    i.kind = InstructionClass::tensor;
    i.opcode = opcode;
    return i.multiply_adds();
  };
  EXPECT_EQ(multiply_adds("HMMA.16816.F32.BF16"), 16 * 8 * 16);
  EXPECT_EQ(multiply_adds("HMMA.1688.F32.TF32"), 16 * 8 * 8);
  EXPECT_EQ(multiply_adds("IMMA.16832.S8.S8"), 16 * 8 * 32);
  EXPECT_EQ(multiply_adds("DMMA.8x8x4"), 8 * 8 * 4);
  EXPECT_EQ(multiply_adds("HGMMA.64x256x16.F32.BF16"), 64 * 256 * 16 / 4) << "a warp's share";
}

// The loop has two steps of 16 along K, 4 x 4 products each; the prologue and epilogue none.
TEST(Program, OfTensorCoresGoesByTheirProducts) {
  const CompiledKernel kernel = *find_compiled("mma_tiles_128x128x32_bf16");
  EXPECT_TRUE(kernel.is_tensor());
  EXPECT_FALSE(kernel.is_warpgroup());
  ThreadWork work;
  work.fma = 128 * 128 * 1024 / 256;  // K = 1024
  work.fma_per_tile = 128 * 128 * 32 / 256;
  work.loads_per_tile = 4;
  work.cost = [](InstructionClass, int) { return AccessCost{4, 16}; };
  work.tensor_cycles = [](const MachineInstruction&) { return 6; };
  const KernelProgram program = program_of(kernel, work);
  EXPECT_TRUE(program.tensor);
  EXPECT_EQ(program.pass.products(), 2 * 4 * 4);
  EXPECT_EQ(program.fma_per_iteration, 2 * 4 * 4 * 64);
  EXPECT_DOUBLE_EQ(program.iterations, 32);
}

TEST(Program, OperandsInTheReuseCacheAreNotRead) {
  const auto reads = bank_reads(parse_sass(loop_with_a_branch, "example.sass").instructions);
  EXPECT_EQ(reads[3], (std::array<int, 2>{2, 1}));  // R4 and R8 are even, R5 is odd
  EXPECT_EQ(reads[4], (std::array<int, 2>{1, 1}));  // R5 was kept in the same place
  EXPECT_EQ(reads[2], (std::array<int, 2>{0, 0}));
}

TEST(Records, AreThereForEveryTileOfTheFirstKindAndOfItsSource) {
  for (const Rung& rung : ladder()) {
    for (const KernelEntry& kernel : rung.kernels) {
      if (kernel.kind != rung.kernels.front().kind) continue;
      const auto compiled = find_compiled(kernel.id());
      ASSERT_TRUE(compiled) << rung.name() << " " << to_string(kernel.tile);
      EXPECT_EQ(compiled->source_hash, rung_source_hash(rung.name())) << rung.name() << ": run script/compiled";
      EXPECT_TRUE(compiled->main_loop()) << rung.name();
      EXPECT_GT(compiled->registers, 0);
      const auto ptx = find_ptx(kernel.id());
      ASSERT_TRUE(ptx) << rung.name() << " " << to_string(kernel.tile);
      EXPECT_EQ(ptx->source_hash, compiled->source_hash);
      EXPECT_EQ(ptx->compiler, compiled->compiler);
    }
  }
}

TEST(Records, HaveTheProductsOfWarpgroupsInTheMainLoopAndNotTheEpilogue) {
  int found = 0;
  for (const Rung& rung : ladder()) {
    for (const KernelEntry& kernel : rung.kernels) {
      const auto compiled = find_compiled(kernel.id());
      if (!compiled || !compiled->is_warpgroup()) continue;
      ++found;
      const auto [first, last] = *compiled->main_loop();
      // Those of a tile's first steps, between which the results of the last one leave, stand in front of the loop.
      const bool some_before = rung.name() == "wgmma_deferred";
      const bool several_loops = rung.name() == "wgmma_equal_areas";  // one for each width
      for (int i = 0; i < static_cast<int>(compiled->instructions.size()); ++i) {
        const InstructionClass kind = compiled->instructions[static_cast<std::size_t>(i)].kind;
        const bool inside = i >= first && i <= last;
        const bool product = kind == InstructionClass::tensor, beta = kind == InstructionClass::fma;
        EXPECT_TRUE(inside ? !beta : !product || several_loops || (some_before && i < first))
            << rung.name() << ", instruction " << i;
      }
    }
  }
  EXPECT_GE(found, 7);
}

// Two orders of the loops over the thread's rows and the tile's columns; nvcc does not make the same of them.
// What the rung says of itself: ldmatrix is how operands of f16 are loaded, and for bf16 there are 4 times as many
// loads.
TEST(Records, ShowThatWmmaLoadsOperandsOfF16AloneByLdmatrix) {
  const auto count = [](const char* type, std::string_view opcode) {
    const CompiledKernel kernel = *find_compiled(std::string("wmma_128x128x32_") + type);
    return std::count_if(kernel.instructions.begin(), kernel.instructions.end(),
                         [&](const MachineInstruction& i) { return i.opcode.starts_with(opcode); });
  };
  EXPECT_EQ(count("bf16", "LDSM"), 0);
  EXPECT_EQ(count("f16", "LDSM"), 12);
  EXPECT_EQ(count("bf16", "LD.E"), 4 * 12);
  EXPECT_EQ(count("bf16", "MOVM"), 16);
  EXPECT_EQ(count("bf16", "HMMA"), count("f16", "HMMA"));
}

TEST(Records, ShowWhatTheCompilerMakesOfTheOrderOfTwoLoops) {
  const auto loads = [](const char* name) {
    const CompiledKernel kernel = *find_compiled(std::string(name) + "_64x64x8_f32");
    int count = 0;
    for (int i = kernel.main_loop()->first; i <= kernel.main_loop()->last; ++i)
      count += kernel.instructions[static_cast<std::size_t>(i)].kind == InstructionClass::shared_load;
    return count;
  };
  EXPECT_EQ(loads("thread_tiles_1d"), 32);
  EXPECT_EQ(loads("thread_tiles_1d_swapped"), 24);
}

// ptxas neither merges nor splits the accesses of these loops, nor unrolls them further: both records count the same.
TEST(Records, OfPtxAndOfMachineCodeAgreeOnTheMainLoop) {
  for (const char* name : {"vectorized", "conflict_free", "multistage"}) {
    const std::string id = find_rung(name).kernels.front().id();
    const auto counts = [](const CompiledKernel& kernel) {
      std::map<std::pair<InstructionClass, int>, int> found;
      for (int i = kernel.main_loop()->first; i <= kernel.main_loop()->last; ++i) {
        const MachineInstruction& instruction = kernel.instructions[static_cast<std::size_t>(i)];
        if ((instruction.bytes > 0 && !instruction.never) || instruction.kind == InstructionClass::fma)
          ++found[{instruction.kind, instruction.bytes}];
      }
      return found;
    };
    EXPECT_EQ(counts(*find_ptx(id)), counts(*find_compiled(id))) << name;
  }
}

}  // namespace
}  // namespace lapidary::model
