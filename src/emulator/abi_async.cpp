// The part of abi.hpp that compute capability 9.0 brings.
#include "emulator/abi.hpp"
#include "emulator/block.hpp"
#include "emulator/cluster.hpp"
#include "emulator/tensor_map_encoding.hpp"

#define CALLER reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

namespace lapidary::emulator::abi {
namespace {

TensorBox decoded(const TensorMap& map, CallSite where) {
  const auto tensor = decode(map);
  if (!tensor) running_block().faults().stop(RuleBroken{Rule::tensor_map}, where);
  return *tensor;
}

// A box that begins at an address of shared memory lies in the block's dynamic shared memory, whose addresses are those
// of the hardware as far as a swizzle looks at them.
void check_shared(const void* shared, unsigned alignment, std::size_t bytes, CallSite where) {
  const SharedMemory& memory = running_block().shared();
  if (!memory.in_arena(address_of(shared)) || !memory.in_arena(address_of(shared) + bytes - 1))
    running_block().faults().stop(BulkCopyTarget{bytes}, where);
  if (address_of(shared) % alignment)
    running_block().faults().stop(BulkCopyMisaligned{false, address_of(shared), alignment}, where);
}

void check_coordinates(const TensorBox& tensor, const int* coordinates, CallSite where) {
  if (const int beyond = misalignment_of(tensor, coordinates); beyond != 0)
    running_block().faults().stop(BoxMisaligned{coordinates[0], beyond}, where);
}

BulkCopy tensor_copy(BulkKind kind, const TensorMap& map, const int* coordinates, void* shared, CallSite where,
                     std::uintptr_t pc) {
  const TensorBox tensor = decoded(map, where);
  check_coordinates(tensor, coordinates, where);
  check_shared(shared, 128, static_cast<std::size_t>(box_extent(tensor)), where);
  for (int mode = 0; kind != BulkKind::load && mode < tensor.rank; ++mode)
    if (coordinates[mode] < 0) running_block().faults().stop(BoxBeforeTensor{coordinates[mode], mode}, where);
  BulkCopy copy{.kind = kind,
                .type = tensor.type,
                .fill = static_cast<unsigned char>(tensor.fill == TensorFill::nan ? 0xff : 0),
                .global = address_of(tensor.base),
                .pc = pc,
                .where = where};
  const Swizzle swizzle = byte_swizzle(tensor.swizzle);
  unsigned char* const start = running_block().shared().dynamic();
  const auto offset = static_cast<int>(static_cast<unsigned char*>(shared) - start);
  auto* const base = const_cast<unsigned char*>(static_cast<const unsigned char*>(tensor.base));
  for_each_chunk(tensor, coordinates, [&](const BoxChunk& chunk) {
    // What is written ends with a chunk, also where a row of the tensor ends within it: an H200 does so.
    const int end = kind == BulkKind::load || chunk.inside_end == 0 ? chunk.inside_end : 16;
    copy.chunks.push_back({start + swizzle(offset + chunk.offset), base + chunk.global,
                           static_cast<std::uint8_t>(chunk.inside_first), static_cast<std::uint8_t>(end)});
  });
  return copy;
}

BulkCopy plain_copy(BulkKind kind, void* shared, void* global, unsigned bytes, CallSite where, std::uintptr_t pc) {
  if (bytes % 16) running_block().faults().stop(BulkCopyBytes{bytes}, where);
  check_shared(shared, 16, bytes, where);
  if (address_of(global) % 16) running_block().faults().stop(BulkCopyMisaligned{true, address_of(global), 16}, where);
  BulkCopy copy{.kind = kind, .global = address_of(global), .pc = pc, .where = where};
  for (unsigned byte = 0; byte < bytes; byte += 16)
    copy.chunks.push_back({static_cast<unsigned char*>(shared) + byte, static_cast<unsigned char*>(global) + byte});
  return copy;
}

void load(BulkCopy&& copy, void* barrier, std::uint16_t multicast) {
  copy.mbarrier = address_of(barrier);
  running_block().bulk_copies().load(std::move(copy), multicast ? multicast : 1u << running_block().place().rank);
}

}  // namespace

void mbarrier_init(void* barrier, unsigned arrivals, CallSite where) {
  running_block().mbarriers().init(address_of(barrier), arrivals, where, CALLER);
}
void grid_wait() { running_block().checker().grid_wait(*running); }
void fence_mbarrier_init() { running_block().mbarriers().fence_init(); }
void mbarrier_inval(void* barrier, CallSite where) {
  running_block().mbarriers().inval(address_of(barrier), where, CALLER);
}
void mbarrier_arrive(void* barrier, unsigned arrivals, unsigned bytes, CallSite where) {
  running_block().mbarriers().arrive(address_of(barrier), arrivals, bytes, where, CALLER);
}
void mbarrier_complete_tx(void* barrier, unsigned bytes, CallSite where) {
  running_block().mbarriers().complete(address_of(barrier), bytes, where, CALLER);
}
bool mbarrier_try_wait(void* barrier, unsigned parity, CallSite where) {
  return running_block().mbarriers().wait(address_of(barrier), parity, true, where, CALLER);
}
bool mbarrier_test_wait(void* barrier, unsigned parity, CallSite where) {
  return running_block().mbarriers().wait(address_of(barrier), parity, false, where, CALLER);
}

// What initialised an mbarrier is an ordinary write too, which this fence tells bulk copies of.
void fence_proxy_async() {
  running_block().races().fence_proxy();
  running_block().mbarriers().fence_init();
}

bool elect(std::uint32_t mask, CallSite where) { return running_block().collectives().elect(mask, where); }

void setmaxnreg(unsigned registers, bool increase, CallSite where) {
  running_block().collectives().setmaxnreg(registers, increase, where);
}

void bulk_tensor_load(void* shared, const TensorMap& map, const int* coordinates, void* barrier,
                      std::uint16_t multicast, CallSite where) {
  load(tensor_copy(BulkKind::load, map, coordinates, shared, where, CALLER), barrier, multicast);
}

void bulk_tensor_store(const TensorMap& map, const int* coordinates, const void* shared, bool add, CallSite where) {
  BulkCopy copy = tensor_copy(add ? BulkKind::add : BulkKind::store, map, coordinates, const_cast<void*>(shared), where,
                              CALLER);
  const bool narrow = copy.type == TensorType::u8 || copy.type == TensorType::u16;
  if (add && (narrow || copy.type == TensorType::i64))
    running_block().faults().stop(RuleBroken{Rule::reduction_type}, where);
  running_block().bulk_copies().store(std::move(copy));
}

void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier, std::uint16_t multicast,
               CallSite where) {
  load(plain_copy(BulkKind::load, shared, const_cast<void*>(global), bytes, where, CALLER), barrier, multicast);
}

void bulk_store(void* global, const void* shared, unsigned bytes, CallSite where) {
  running_block().bulk_copies().store(
      plain_copy(BulkKind::store, const_cast<void*>(shared), global, bytes, where, CALLER));
}

void prefetch_tensor(const TensorMap& map, const int* coordinates, CallSite where) {
  check_coordinates(decoded(map, where), coordinates, where);
}
void prefetch_tensor_map(const TensorMap& map, CallSite where) { decoded(map, where); }
void bulk_commit_group() { running_block().bulk_copies().commit(); }
void bulk_wait_group(unsigned pending, bool read, CallSite where) {
  running_block().bulk_copies().wait(pending, read, where);
}

Index3 cluster_block_index() {
  const Index3 index = running_block().place().index;
  const Extent3& cluster = running_block().place().shape.cluster;
  return {index.x % cluster.x, index.y % cluster.y, index.z % cluster.z};
}
Index3 cluster_extent() {
  const Extent3& cluster = running_block().place().shape.cluster;
  return {cluster.x, cluster.y, cluster.z};
}
unsigned cluster_rank() { return running_block().place().rank; }
void cluster_arrive(bool releases, CallSite where) { running_block().cluster().arrive(releases, where); }
void cluster_wait(CallSite where) { running_block().cluster().wait(where); }
void* map_shared_rank(const void* shared, unsigned rank, CallSite where) {
  return reinterpret_cast<void*>(
      running_block().cluster().map_to_rank(address_of(shared), running_block().place().rank, rank, where));
}

}  // namespace lapidary::emulator::abi
