#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "emulator/abi.hpp"
#include "emulator/call_site.hpp"
#include "emulator/fault.hpp"
#include "emulator/lane.hpp"
#include "emulator/race_detector.hpp"

namespace lapidary::emulator {

class AccessLog;
class FaultStop;
class NamedBarriers;
class RaceChecker;
class RegisterPool;
class Scheduler;
class Warpgroups;
struct Options;

/// What all 32 lanes of a warp execute as one, such as mma.sync: the last lane to come does it for all.
struct WarpInstruction {
  void (*execute)(const void* form, void* const (&operands)[32]) = nullptr;
  const void* form = nullptr;  ///< shape, types and the like; one object for each, so that its address tells them apart

  bool operator==(const WarpInstruction&) const = default;
};

/// Brings the lanes of a warp together: those of a mask that have not exited wait for each other, and the last one to
/// come executes for all. A block's named barriers and its registers are for whole warps, and have their instructions
/// here.
class WarpCollectives {
 public:
  WarpCollectives(const Options& options, Scheduler& scheduler, AccessLog& log, RaceChecker& races,
                  NamedBarriers& barriers, RegisterPool& registers, Warpgroups& warpgroups, FaultStop& faults);

  void begin();

  // What the running lane calls; see abi.hpp.
  void sync(std::uint32_t mask, CallSite where) { join(Kind::sync, mask, where); }
  std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, abi::Shuffle mode, int operand, int width,
                        CallSite where);
  std::uint32_t ballot(std::uint32_t mask, int predicate, CallSite where);
  std::uint32_t match(std::uint32_t mask, std::uint64_t value, CallSite where);
  std::uint32_t reduce(std::uint32_t mask, std::uint32_t value, abi::Reduction operation, CallSite where);
  std::uint32_t active(CallSite where);
  bool elect(std::uint32_t mask, CallSite where);
  void barrier_arrive(unsigned id, unsigned threads, CallSite where);
  void setmaxnreg(unsigned registers, bool increase, CallSite where);
  /// `operands` are the running lane's, for `execute`.
  void execute(const WarpInstruction& instruction, void* operands, CallSite where);

  /// A lane of the warp has exited: the others need not wait for it.
  void complete_if_due(Warp& warp);
  /// No lane of the warp can go on: those that ask who is active may, as no other one will come to where they are.
  void converge(Warp& warp);

  /// What a lane that is at a collective waits for.
  Wait wait_of(const Lane& lane) const;

 private:
  enum class Kind : std::uint8_t { none, sync, shuffle, vote, match, reduce, arrive, instruction, elect, registers };
  /// A collective that some lanes of a warp have come to and others have not.
  struct Pending {
    Kind kind = Kind::none;
    std::uint32_t mask = 0, arrived = 0;
  };
  /// What a lane has brought to the collective that it is at, and its result.
  struct Operands {
    std::uint64_t value = 0, result = 0;
    int operand = 0, width = 0;
    abi::Shuffle shuffle{};
    abi::Reduction reduction{};
    WarpInstruction instruction{};
    void* of_instruction = nullptr;
  };

  void join(Kind kind, std::uint32_t mask, CallSite where);
  bool same_instruction(Kind kind, const Lane& lane, const Lane& waiting, CallSite where);
  void complete(Warp& warp, Pending& pending);
  void complete_shuffle(const Warp& warp, std::uint32_t lanes);
  void complete_vote(const Warp& warp, std::uint32_t lanes);
  void complete_match(const Warp& warp, std::uint32_t lanes);
  void complete_reduction(const Warp& warp, std::uint32_t lanes);
  void complete_elect(const Warp& warp, std::uint32_t lanes);
  void complete_instruction(const Warp& warp, std::uint32_t lanes);
  [[noreturn]] void stop_part_of_warp(const Lane& lane);
  Operands& of(const Lane& lane) { return operands_[lane.thread]; }

  const Options& options_;
  Scheduler& scheduler_;
  AccessLog& log_;
  RaceChecker& races_;
  NamedBarriers& barriers_;
  RegisterPool& registers_;
  Warpgroups& warpgroups_;
  FaultStop& faults_;
  /// By warp. Each has a lane that waits at no other one, and one that is yet to come.
  std::array<std::array<Pending, 31>, max_warps> pending_;
  std::array<std::uint32_t, max_warps> asking_{};          ///< by warp: lanes that ask who is active
  std::vector<Operands> operands_{LaunchLimits::threads};  ///< by thread
};

}  // namespace lapidary::emulator
