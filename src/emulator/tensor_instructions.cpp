// The instructions that a warp executes as one: mma.sync, ldmatrix and stmatrix, and those of wgmma.
#include <cstring>
#include <vector>

#include "emulator/block.hpp"
#include "emulator/registers.hpp"
#include "layout/fragment.hpp"

namespace lapidary::emulator::abi {
namespace {

// ---------------------------------------------------------------------------------------------------- mma.sync

struct MmaOperands {
  const void *a, *b, *c;
  void* d;
  std::uintptr_t pc;
};

void execute_mma(const void* form, void* const (&operands)[32]) {
  const TensorOperation& what = *static_cast<const TensorOperation*>(form);
  running_block().counter().count_mma(static_cast<const MmaOperands*>(operands[0])->pc, what);
  if (!running_block().options().multiply) return;
  const int M = what.M, N = what.N, K = what.K;
  const Registers in(what.a), out(what.d);
  const int packed = in.packed();
  std::vector<std::uint64_t> a(static_cast<std::size_t>(M * K)), b(static_cast<std::size_t>(N * K)),
      c(static_cast<std::size_t>(M * N));
  const auto at = [](std::vector<std::uint64_t>& matrix, int index) -> std::uint64_t& {
    return matrix[static_cast<std::size_t>(index)];
  };
  for (int lane = 0; lane < 32; ++lane) {
    const MmaOperands& mine = *static_cast<const MmaOperands*>(operands[lane]);
    for (int i = 0; i < M * K / 32; ++i) {
      const RowCol<int> place = mma_a(packed, lane, i / packed, i % packed);
      at(a, place.row * K + place.col) = in.get(mine.a, i);
    }
    for (int i = 0; i < N * K / 32; ++i) {
      const RowCol<int> place = mma_b(packed, lane, i / packed, i % packed);
      at(b, place.col * K + place.row) = in.get(mine.b, i);
    }
    for (int i = 0; i < M * N / 32; ++i) {
      const RowCol<int> place = mma_d(lane, i);
      at(c, place.row * N + place.col) = out.get(mine.c, i);
    }
  }
  multiply(what, a.data(), b.data(), c.data(), c.data());
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < M * N / 32; ++i) {
      const RowCol<int> place = mma_d(lane, i);
      out.set(static_cast<const MmaOperands*>(operands[lane])->d, i, at(c, place.row * N + place.col));
    }
  }
}

// ---------------------------------------------------------------------------------------------------- ldmatrix

struct MatrixOperands {
  std::uint32_t* registers;
  unsigned char* row;  ///< of 16 bytes in shared memory; that of lane 8 j + i is row i of matrix j
};

template <class Move>
void for_each_element(const MatrixForm& form, void* const (&operands)[32], Move&& move) {
  for (int lane = 0; lane < 32; ++lane) {
    auto* const registers = reinterpret_cast<unsigned char*>(static_cast<MatrixOperands*>(operands[lane])->registers);
    for (int i = 0; i < 2 * form.count; ++i) {
      const RowCol<int> place = ldmatrix_element(form.transposed, lane, i % 2);
      unsigned char* const row = static_cast<MatrixOperands*>(operands[i / 2 * 8 + place.row])->row;
      move(registers + 2 * i, row + 2 * place.col);
    }
  }
}

void execute_load(const void* form, void* const (&operands)[32]) {
  for_each_element(*static_cast<const MatrixForm*>(form), operands,
                   [](unsigned char* part, const unsigned char* shared) { std::memcpy(part, shared, 2); });
}

void execute_store(const void* form, void* const (&operands)[32]) {
  for_each_element(*static_cast<const MatrixForm*>(form), operands,
                   [](const unsigned char* part, unsigned char* shared) { std::memcpy(shared, part, 2); });
}

/// Reports the row that this lane addresses, if its address counts, as the instrumentation would a load or a store.
void record_row(const MatrixForm& form, const void* row, Access access, std::uintptr_t pc) {
  constexpr unsigned bytes = 16;
  if (running->lane >= 8 * static_cast<unsigned>(form.count)) return;
  const std::uintptr_t address = address_of(row);
  if (running_block().shared().offset(address) == SharedMemory::npos)
    running_block().faults().stop(RuleBroken{Rule::matrix_target}, pc);
  running_block().checker().check_alignment(address, bytes, bytes, access, pc);
  if (recorder.next) running_block().record(address, bytes, access, pc);
}

}  // namespace

void mma_sync(const TensorOperation& form, const void* a, const void* b, const void* c, void* d, CallSite where) {
  MmaOperands operands = {a, b, c, d, address_of(__builtin_return_address(0))};
  running_block().collectives().execute({execute_mma, &form}, &operands, where);
}

void ldmatrix(const MatrixForm& form, std::uint32_t* d, const void* row, CallSite where) {
  record_row(form, row, Access::shared_load, address_of(__builtin_return_address(0)));
  MatrixOperands operands = {d, static_cast<unsigned char*>(const_cast<void*>(row))};
  running_block().collectives().execute({execute_load, &form}, &operands, where);
}

void stmatrix(const MatrixForm& form, void* row, const std::uint32_t* a, CallSite where) {
  record_row(form, row, Access::shared_store, address_of(__builtin_return_address(0)));
  MatrixOperands operands = {const_cast<std::uint32_t*>(a), static_cast<unsigned char*>(row)};
  running_block().collectives().execute({execute_store, &form}, &operands, where);
}

// ---------------------------------------------------------------------------------------------------- wgmma

namespace {

// A warp's instructions without operands are told apart by what stands for their form.
constexpr char fence_form = 'f', commit_form = 'c';
constexpr unsigned wait_forms[] = {0, 1, 2, 3, 4, 5, 6, 7};

Warp& warp() { return *running->warp; }

void execute_wgmma(const void* form, void* const (&operands)[32]) {
  running_block().warpgroups().issue(warp(), *static_cast<const WgmmaForm*>(form), operands, running->where);
}
void execute_fence(const void*, void* const (&)[32]) { running_block().warpgroups().fence(warp(), running->where); }
void execute_commit(const void*, void* const (&)[32]) { running_block().warpgroups().commit(warp(), running->where); }
void execute_wait(const void* pending, void* const (&)[32]) {
  running_block().warpgroups().wait(warp(), *static_cast<const unsigned*>(pending), running->where);
}

}  // namespace

void wgmma_fence(const void* registers, std::size_t bytes, CallSite where) {
  running_block().collectives().execute({execute_fence, &fence_form}, nullptr, where);
  running_block().warpgroups().watch(*running, registers, bytes);
}

void wgmma_commit_group(CallSite where) {
  running_block().collectives().execute({execute_commit, &commit_form}, nullptr, where);
}

void wgmma_wait_group(unsigned pending, CallSite where) {
  running_block().collectives().execute({execute_wait, &wait_forms[pending]}, nullptr, where);
  running_block().warpgroups().finish_wait();
}

void wgmma_mma_async(const WgmmaForm& form, void* d, const void* a, std::uint64_t a_descriptor,
                     std::uint64_t b_descriptor, bool accumulate, CallSite where) {
  WgmmaOperands operands = {d, a, a_descriptor, b_descriptor, accumulate, address_of(__builtin_return_address(0))};
  running_block().collectives().execute({execute_wgmma, &form}, &operands, where);
}

}  // namespace lapidary::emulator::abi
