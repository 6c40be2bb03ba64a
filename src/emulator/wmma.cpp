// The WMMA API: a warp loads, multiplies and stores matrices, and does not see which lane has which element.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "emulator/block.hpp"

namespace lapidary::emulator::abi {
namespace {

unsigned bytes_of(Number number) { return static_cast<unsigned>(width_of(number)) / 8; }

int elements_of_lane(const WmmaForm& form) {
  switch (form.operand) {
    case WmmaOperand::a: return form.M * form.K / 32;
    case WmmaOperand::b: return form.N * form.K / 32;
    case WmmaOperand::d: break;
  }
  return form.M * form.N / 32;
}

/// A place as it lies in memory: `col` elements on from the beginning of line `row`.
RowCol<int> in_memory(const WmmaForm& form, int lane, int index) {
  const RowCol<int> at = wmma_element(form.operand, form.M, form.N, lane, index);
  return form.column_major ? RowCol<int>{at.col, at.row} : at;
}

struct WmmaOperands {
  unsigned char* elements;
  unsigned char* memory;
  unsigned ld;
};

template <class Move>
void for_each_element(const void* form_of_all, void* const (&operands)[32], Move&& move) {
  const WmmaForm& form = *static_cast<const WmmaForm*>(form_of_all);
  const std::size_t bytes = bytes_of(form.number);
  for (int lane = 0; lane < 32; ++lane) {
    const WmmaOperands& mine = *static_cast<const WmmaOperands*>(operands[lane]);
    for (int i = 0; i < elements_of_lane(form); ++i) {
      const RowCol<int> at = in_memory(form, lane, i);
      const std::size_t place = static_cast<std::size_t>(at.row) * mine.ld + static_cast<std::size_t>(at.col);
      move(mine.elements + static_cast<std::size_t>(i) * bytes, mine.memory + place * bytes, bytes);
    }
  }
}

void execute_wmma_load(const void* form, void* const (&operands)[32]) {
  for_each_element(form, operands, [](unsigned char* element, const unsigned char* memory, std::size_t bytes) {
    std::memcpy(element, memory, bytes);
  });
}

void execute_wmma_store(const void* form, void* const (&operands)[32]) {
  for_each_element(form, operands, [](const unsigned char* element, unsigned char* memory, std::size_t bytes) {
    std::memcpy(memory, element, bytes);
  });
}

// ---------------------------------------------------------------------------------------------------- accesses

/// Reports a lane's accesses to one matrix.
class Accesses {
 public:
  Accesses(const WmmaForm& form, const void* memory, unsigned ld, bool store, std::uintptr_t pc)
      : form_(form), base_(reinterpret_cast<std::uintptr_t>(memory)), ld_(ld), pc_(pc) {
    shared_ = running_block().shared().offset(base_) != SharedMemory::npos;
    access_ = shared_ ? (store ? Access::shared_store : Access::shared_load)
                      : (store ? Access::global_store : Access::global_load);
    const unsigned multiple = 16 / bytes_of(form.number);
    if (ld % multiple != 0) running_block().faults().stop(WmmaPitch{ld, multiple}, pc);
    // The most that the instructions ask for. CUDA wants 256 bits, which tiles of 8 columns beside each other do not
    // have.
    running_block().checker().check_alignment(base_, 16, 16, access_, pc);
  }

  bool shared() const { return shared_; }

  void add(int row, int col, unsigned bytes) const {
    if (!recorder.next) return;
    const std::uintptr_t address = base_ + (static_cast<std::uintptr_t>(row) * ld_ + static_cast<std::uintptr_t>(col)) *
                                               bytes_of(form_.number);
    running_block().record(address, bytes, access_, pc_);
  }

 private:
  const WmmaForm& form_;
  std::uintptr_t base_;
  unsigned ld_;
  std::uintptr_t pc_;
  bool shared_ = false;
  Access access_{};
};

void record(const WmmaForm& form, const Accesses& accesses, bool by_ldmatrix) {
  const int lane = static_cast<int>(running->lane), elements = elements_of_lane(form);
  // Of 16-bit elements each register is a lane's part of a block of 8 x 8, which begins where lane 0's part does.
  if (by_ldmatrix) {
    for (int first = 0; first < elements; first += 8) {
      const int matrices = std::min(4, (elements - first) / 2);
      if (lane / 8 >= matrices) continue;
      const RowCol<int> corner = in_memory(form, 0, first + lane / 8 * 2);
      accesses.add(corner.row + lane % 8, corner.col, 16);
    }
    return;
  }
  for (int i = 0; i < elements; i += 2) {
    const RowCol<int> first = in_memory(form, lane, i), second = in_memory(form, lane, i + 1);
    if (bytes_of(form.number) == 2) {
      const RowCol<int> corner = in_memory(form, 0, i);
      accesses.add(corner.row + lane / 4, corner.col + lane % 4 * 2, 4);
    } else if (first.row == second.row) {
      accesses.add(first.row, first.col, 8);
    } else {
      accesses.add(first.row, first.col, 4);
      accesses.add(second.row, second.col, 4);
    }
  }
}

// ---------------------------------------------------------------------------------------------------- products

struct ProductOperands {
  const void *a, *b, *c;
  void* d;
  std::uintptr_t pc;
};

void execute_product(const void* form, void* const (&operands)[32]) {
  const TensorOperation& what = *static_cast<const TensorOperation*>(form);
  running_block().counter().count_mma(static_cast<const ProductOperands*>(operands[0])->pc, what);
  if (!running_block().options().multiply) return;
  const int M = what.M, N = what.N, K = what.K;
  // B column by column.
  std::vector<std::uint64_t> a(static_cast<std::size_t>(M * K)), b(static_cast<std::size_t>(N * K)),
      c(static_cast<std::size_t>(M * N));
  const auto visit = [&](WmmaOperand operand, Number number, int lane, auto&& move) {
    const WmmaForm part = {operand, number, M, N, K, operand == WmmaOperand::b};
    const int pitch = operand == WmmaOperand::d ? N : K;
    for (int i = 0; i < elements_of_lane(part); ++i) {
      const RowCol<int> at = in_memory(part, lane, i);
      move(static_cast<std::size_t>(at.row * pitch + at.col), static_cast<std::size_t>(i) * bytes_of(number));
    }
  };
  for (int lane = 0; lane < 32; ++lane) {
    const ProductOperands& mine = *static_cast<const ProductOperands*>(operands[lane]);
    const auto gather = [&](std::vector<std::uint64_t>& to, WmmaOperand operand, Number number, const void* from) {
      visit(operand, number, lane, [&](std::size_t place, std::size_t offset) {
        std::memcpy(&to[place], static_cast<const unsigned char*>(from) + offset, bytes_of(number));
      });
    };
    gather(a, WmmaOperand::a, what.a, mine.a);
    gather(b, WmmaOperand::b, what.b, mine.b);
    gather(c, WmmaOperand::d, what.d, mine.c);
  }
  multiply(what, a.data(), b.data(), c.data(), c.data());
  for (int lane = 0; lane < 32; ++lane) {
    const ProductOperands& mine = *static_cast<const ProductOperands*>(operands[lane]);
    visit(WmmaOperand::d, what.d, lane, [&](std::size_t place, std::size_t offset) {
      std::memcpy(static_cast<unsigned char*>(mine.d) + offset, &c[place], bytes_of(what.d));
    });
  }
}

}  // namespace

void wmma_load(const WmmaForm& form, void* elements, const void* memory, unsigned ld, bool constant, CallSite where) {
  const Accesses accesses(form, memory, ld, false, address_of(__builtin_return_address(0)));
  record(form, accesses, accesses.shared() && constant && form.operand != WmmaOperand::d);
  WmmaOperands operands = {static_cast<unsigned char*>(elements),
                           static_cast<unsigned char*>(const_cast<void*>(memory)), ld};
  running_block().collectives().execute({execute_wmma_load, &form}, &operands, where);
}

void wmma_store(const WmmaForm& form, const void* elements, void* memory, unsigned ld, CallSite where) {
  const Accesses accesses(form, memory, ld, true, address_of(__builtin_return_address(0)));
  record(form, accesses, false);
  WmmaOperands operands = {static_cast<unsigned char*>(const_cast<void*>(elements)),
                           static_cast<unsigned char*>(memory), ld};
  running_block().collectives().execute({execute_wmma_store, &form}, &operands, where);
}

void wmma_multiply(const TensorOperation& form, const void* a, const void* b, const void* c, void* d, CallSite where) {
  ProductOperands operands = {a, b, c, d, address_of(__builtin_return_address(0))};
  running_block().collectives().execute({execute_product, &form}, &operands, where);
}

}  // namespace lapidary::emulator::abi
