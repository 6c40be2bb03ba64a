#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "core/launch_shape.hpp"
#include "emulator/abi.hpp"
#include "emulator/call_site.hpp"
#include "emulator/fault.hpp"
#include "emulator/race_detector.hpp"
#include "layout/matrix_descriptor.hpp"

namespace lapidary::emulator {

class AccessChecker;
class AccessCounter;
class AccessLog;
class FaultStop;
class RaceChecker;
class Scheduler;
class SharedMemory;
struct BlockPlace;
struct Lane;
struct Options;
struct Warp;

/// What one thread gives to wgmma.mma_async; `a` is null where A is in shared memory.
struct WgmmaOperands {
  void* d;
  const void* a;
  std::uint64_t a_descriptor, b_descriptor;
  bool accumulate;
  std::uintptr_t pc;
};

/// The products (wgmma.mma_async) of one block's warpgroups. One is begun by the first warp of its warpgroup to issue
/// it and can be computed when all four have. Its operands in shared memory are read when a warp waits for it, or in a
/// random order at any time before; D holds NaN from a warp's issue to the same warp's wait. Products of one warpgroup
/// are computed in their order.
class Warpgroups {
 public:
  Warpgroups(const Options& options, const BlockPlace& place, Scheduler& scheduler, SharedMemory& shared,
             AccessChecker& checker, AccessCounter& counter, AccessLog& log, RaceChecker& races, FaultStop& faults);

  void begin();

  /// A warp executes an instruction that all four of its warpgroup have to (.aligned), in the same order. Stops the
  /// kernel if another one has executed a different one in its place, or has exited.
  /// @param form  tells apart what stands at one place
  void step(const Warp& warp, const void* form, CallSite where);

  // What the lanes of a warp do together, of which `lanes` gives the operands.
  void fence(Warp& warp, CallSite where);
  void issue(Warp& warp, const abi::WgmmaForm& form, void* const (&lanes)[32], CallSite where);
  void commit(Warp& warp, CallSite where);
  /// Begins a warp's wait for all but its `pending` newest groups.
  void wait(Warp& warp, unsigned pending, CallSite where);
  /// The running lane waits until all products that its warp waits for have been issued by all of its warpgroup. The
  /// first one that goes on writes their D.
  void finish_wait();
  /// What the warp waits for.
  Wait wait_of(const Warp& warp) const;

  /// Whether there is a product that can be computed.
  bool busy() const { return computable_ > 0; }
  /// Computes the next one of any warpgroup.
  void advance(std::minstd_rand& random);

  /// Takes note of a thread's array before it is used.
  void watch(const Lane& lane, const void* registers, std::size_t bytes);
  /// An access to a thread's own memory in a checked run. Stops the kernel if a product has the registers.
  void touch(const Lane& lane, std::uintptr_t address, unsigned bytes, bool write, std::uintptr_t pc);
  /// The product that reads this byte of shared memory and that not all warps have waited for: where it was issued.
  std::optional<CallSite> reader(std::uintptr_t address) const;

  /// Whether an instruction is a wgmma.mma_async that the block has issued.
  bool issued_at(std::uintptr_t pc) const { return instructions_.contains(pc); }

  /// Stops the kernel if the warp must not exit.
  void check_exit(const Warp& warp);

 private:
  /// An array of a thread that wgmma has for registers.
  struct RegisterArray {
    std::uintptr_t begin = 0, end = 0;
    bool is_d = false;
    bool touched = false;  ///< by other code since the last wgmma.fence
    struct {
      std::uintptr_t begin, end, pc;
    } touched_by{};
    unsigned pending = 0;  ///< products that nobody has waited for
    CallSite where;        ///< of the last of them
  };
  struct Product {
    const abi::WgmmaForm* form = nullptr;
    WgmmaOperands operands{};  ///< of the first thread that issued it
    CallSite where;
    unsigned issued = 0, delivered = 0;  ///< warps of the warpgroup
    bool computed = false;
    std::array<void*, 128> d{};
    std::array<const void*, 128> a_from{};
    /// Of each warp: the product whose D is its C, or none.
    std::array<std::int64_t, 4> after = {-1, -1, -1, -1};
    std::vector<std::uint64_t> a, c;  ///< from registers; c becomes D
    struct Chunk {
      std::uintptr_t address;
      unsigned warps;  ///< of the warpgroup that have it for an operand
    };
    std::vector<Chunk> chunks;                  ///< of 16 bytes of shared memory
    std::array<RaceDetector::Copy, 4> marks{};  ///< of each warp's reads

    bool is_computable() const { return issued == 15 && !computed; }
  };
  /// An instruction that some warps of a warpgroup have executed, and all have to.
  struct Step {
    const void* form;
    CallSite where;
    unsigned warps = 0;
  };
  /// What one warp has done; steps and products are numbered through.
  struct Member {
    std::uint64_t steps = 0;
    std::uint64_t issued = 0, delivered = 0, wanted = 0;
    std::vector<std::uint64_t> groups;  ///< the number of products at each commit
    bool fenced = false;
  };
  struct Group {
    std::array<Member, 4> warps;
    std::deque<Step> steps;  ///< from number `first_step` on
    std::uint64_t first_step = 0;
    std::deque<Product> products;  ///< from number `first` on
    std::uint64_t first = 0;

    Product& at(std::uint64_t number) { return products[number - first]; }
    const Product& at(std::uint64_t number) const { return products[number - first]; }
  };

  Group& group_of(const Warp& warp);
  bool deliver_wanted(Warp& warp);
  void begin_product(Group& group, Product& product);
  void check_same(const Warp& warp, const Product& product, const WgmmaOperands& operands, CallSite where);
  void check_registers(const Lane& lane, const WgmmaOperands& operands, const abi::WgmmaForm& form, CallSite where);
  RegisterArray& array(const Lane& lane, std::uintptr_t begin, std::size_t bytes);
  void compute_next(Group& group);
  static void hand_on(const Product& product, Product& next, unsigned place);
  void compute(Group& group, Product& product);
  void end_reading(Product& product);
  void deliver(Group& group, std::uint64_t number, Warp& warp);
  template <class Visit>
  void for_each_chunk(const Product& product, Visit&& visit) const;
  unsigned char* address(std::uint32_t shared) const;

  const Options& options_;
  const BlockPlace& place_;
  Scheduler& scheduler_;
  SharedMemory& shared_;
  AccessChecker& checker_;
  AccessCounter& counter_;
  AccessLog& log_;
  RaceChecker& races_;
  FaultStop& faults_;
  std::array<Group, LaunchLimits::threads / 128> groups_;
  std::vector<std::vector<RegisterArray>> registers_{LaunchLimits::threads};  ///< by thread, in checked runs
  std::vector<std::uint8_t> readers_;  ///< products that read each 16 bytes of shared memory, in checked runs
  std::set<std::uintptr_t> instructions_;
  unsigned computable_ = 0;
};

}  // namespace lapidary::emulator
