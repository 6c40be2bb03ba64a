#include "emulator/copy_engine.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/types.hpp"
#include "emulator/bulk_copies.hpp"

namespace lapidary::emulator {
namespace {

template <class T>
void add_as(unsigned char* to, const unsigned char* from, int bytes) {
  for (int i = 0; i < bytes; i += static_cast<int>(sizeof(T))) {
    T sum, addend;
    std::memcpy(&sum, to + i, sizeof(T));
    std::memcpy(&addend, from + i, sizeof(T));
    if constexpr (std::is_same_v<T, f16>)
      sum = from_float<f16>(to_float(sum) + to_float(addend));
    else
      sum = static_cast<T>(sum + addend);
    std::memcpy(to + i, &sum, sizeof(T));
  }
}

// Round to nearest, ties to even, as the hardware does.
void add_bf16(unsigned char* to, const unsigned char* from, int bytes) {
  const auto widen = [](std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); };
  for (int i = 0; i < bytes; i += 2) {
    std::uint16_t a, b;
    std::memcpy(&a, to + i, 2);
    std::memcpy(&b, from + i, 2);
    const std::uint32_t sum = std::bit_cast<std::uint32_t>(widen(a) + widen(b));
    const bool nan = (sum & 0x7fffffffu) > 0x7f800000u;
    a = static_cast<std::uint16_t>(nan ? 0x7fffu : (sum + 0x7fffu + (sum >> 16 & 1u)) >> 16);
    std::memcpy(to + i, &a, 2);
  }
}

void add(TensorType type, unsigned char* to, const unsigned char* from, int bytes) {
  switch (type) {
    case TensorType::u8: return add_as<std::uint8_t>(to, from, bytes);
    case TensorType::u16: return add_as<std::uint16_t>(to, from, bytes);
    case TensorType::u32:
    case TensorType::i32: return add_as<std::uint32_t>(to, from, bytes);
    case TensorType::u64:
    case TensorType::i64: return add_as<std::uint64_t>(to, from, bytes);
    case TensorType::f16: return add_as<f16>(to, from, bytes);
    case TensorType::bf16: return add_bf16(to, from, bytes);
    case TensorType::f64: return add_as<double>(to, from, bytes);
    default: return add_as<float>(to, from, bytes);
  }
}

}  // namespace

void CopyEngine::issue(BulkCopy&& copy) {
  if (copy.kind == BulkKind::load)
    for (const BulkCopy::Chunk& chunk : copy.chunks) std::memset(chunk.shared, 0xff, 16);
  const auto [first, last] = std::minmax_element(copy.chunks.begin(), copy.chunks.end(),
                                                 [](const auto& a, const auto& b) { return a.shared < b.shared; });
  if (first != copy.chunks.end()) copy.begin = first->shared, copy.end = last->shared + 16;
  copies_.push_back(std::move(copy));
}

bool CopyEngine::advance(std::minstd_rand* random) {
  const auto is_load = [](const BulkCopy& copy) { return copy.kind == BulkKind::load; };
  const auto can_advance = [](const BulkCopy& copy) { return copy.progress != BulkCopy::Progress::done; };
  auto next = copies_.end();
  if (random) {
    if (copies_.empty()) return false;
    const auto at = static_cast<std::ptrdiff_t>((*random)() % copies_.size());
    next = std::find_if(copies_.begin() + at, copies_.end(), can_advance);
    if (next == copies_.end()) next = std::find_if(copies_.begin(), copies_.end(), can_advance);
  } else {
    next = std::find_if(copies_.begin(), copies_.end(), is_load);
    if (next == copies_.end())
      next = std::find_if(copies_.begin(), copies_.end(),
                          [](const BulkCopy& copy) { return copy.issuer->waits_for(copy); });
  }
  if (next == copies_.end()) return false;
  if (is_load(*next)) {
    BulkCopy load = std::move(*next);
    copies_.erase(next);
    step(load);
  } else {
    step(*next);
  }
  return true;
}

/// What an H200 loads of floats as tf32: the nearest, ties to even, and one NaN.
void round_to_tf32(unsigned char* chunk) {
  for (int i = 0; i < 16; i += 4) {
    std::uint32_t bits;
    std::memcpy(&bits, chunk + i, 4);
    bits = (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffe000u : (bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu;
    std::memcpy(chunk + i, &bits, 4);
  }
}

void CopyEngine::step(BulkCopy& copy) {
  if (copy.kind == BulkKind::load) {
    for (const auto& [shared, global, first, end] : copy.chunks) {
      std::memset(shared, copy.fill, 16);
      if (end > first) std::memcpy(shared + first, global + first, end - first);
      if (copy.type == TensorType::tf32 || copy.type == TensorType::tf32_ftz) round_to_tf32(shared);
    }
    copy.progress = BulkCopy::Progress::done;
    copy.owner->complete_load(copy);
    return;
  }
  if (copy.progress == BulkCopy::Progress::issued) {
    copy.data.resize(copy.bytes());
    for (std::size_t i = 0; i < copy.chunks.size(); ++i) std::memcpy(&copy.data[i * 16], copy.chunks[i].shared, 16);
    copy.progress = BulkCopy::Progress::read;
  } else {
    for (std::size_t i = 0; i < copy.chunks.size(); ++i) {
      const auto& [shared, global, first, end] = copy.chunks[i];
      if (end <= first) continue;
      if (copy.kind == BulkKind::add)
        add(copy.type, global + first, &copy.data[i * 16] + first, end - first);
      else
        std::memcpy(global + first, &copy.data[i * 16] + first, end - first);
    }
    copy.progress = BulkCopy::Progress::done;
  }
  copy.issuer->wake(*copy.lane);
}

bool CopyEngine::is_complete(const Lane& lane, unsigned group, bool read) const {
  const auto least = read ? BulkCopy::Progress::read : BulkCopy::Progress::done;
  return std::all_of(copies_.begin(), copies_.end(), [&](const BulkCopy& copy) {
    return copy.kind == BulkKind::load || copy.lane != &lane || copy.group >= group || copy.progress >= least;
  });
}

std::vector<BulkCopy> CopyEngine::release(const Lane& lane, unsigned group) {
  std::vector<BulkCopy> released;
  const auto covered = [&](const BulkCopy& copy) {
    return copy.kind != BulkKind::load && copy.lane == &lane && copy.group < group;
  };
  for (BulkCopy& copy : copies_)
    if (covered(copy) && !std::exchange(copy.released, true)) released.push_back(copy);
  std::erase_if(copies_,
                [&](const BulkCopy& copy) { return copy.released && copy.progress == BulkCopy::Progress::done; });
  return released;
}

bool CopyEngine::reads(const BulkCopies& owner) const {
  return std::any_of(copies_.begin(), copies_.end(), [&](const BulkCopy& copy) {
    return copy.kind != BulkKind::load && copy.owner == &owner && !copy.released;
  });
}

const BulkCopy* CopyEngine::at(std::uintptr_t address) const {
  const auto* const byte = reinterpret_cast<const unsigned char*>(address);
  for (const BulkCopy& copy : copies_)
    if (!copy.released && byte >= copy.begin && byte < copy.end)
      for (const BulkCopy::Chunk& chunk : copy.chunks)
        if (byte >= chunk.shared && byte < chunk.shared + 16) return &copy;
  return nullptr;
}

const BulkCopy* CopyEngine::unfinished(const BulkCopies& owner) const {
  for (const BulkCopy& copy : copies_)
    if (copy.owner == &owner && !copy.released) return &copy;
  return nullptr;
}

void CopyEngine::finish() {
  for (BulkCopy& copy : copies_)
    while (copy.kind != BulkKind::load && copy.progress != BulkCopy::Progress::done) step(copy);
  copies_.clear();
}

}  // namespace lapidary::emulator
