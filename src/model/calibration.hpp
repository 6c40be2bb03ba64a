#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/types.hpp"
#include "model/gpu.hpp"
#include "model/multiprocessor.hpp"
#include "model/sass.hpp"

namespace lapidary::model {

/// What the tensor cores of an SM do in a clock of an instruction of machine code (HMMA, IMMA, DMMA); 0: the card lacks
/// them.
double tensor_flop_per_clk(const Gpu& gpu, const MachineInstruction& instruction);

/// The physical constants of a card, as `lapidary calibrate` measures them by micro-benchmarks.
class Calibration {
 public:
  /// @throws InvalidArgument naming the file if it is not one that `lapidary calibrate` writes
  explicit Calibration(std::string_view json, std::string_view file);

  /// The median of a constant. @throws InvalidArgument if the file lacks it
  double operator[](std::string_view name) const;

  /// The same; of another one if the file lacks the first. @throws InvalidArgument if it lacks both
  double either(std::string_view name, std::string_view otherwise) const;

  /// The clock of which cycles are told, the card's highest one; none if the file does not say.
  std::optional<double> highest_hz() const { return highest_hz_; }

  /// As it is at another clock of the multiprocessors, of which cycles are told: what L2 and DRAM take in time and give
  /// in it stays. @param share  of the clock that it was measured at
  Calibration at_clock(double share) const;

  /// As it is taken for another card, on which it was not measured: with the bandwidths that the card's data sheet has.
  /// L2 gives what was measured there, if it was, and to bulk copies that much more or less; DRAM the part of what is
  /// published that its own card's reads get.
  /// @param own  the card that it was measured on
  Calibration on_card(const Gpu& gpu, const Gpu& own) const;

  /// For how many cycles an instruction of tensor cores that a warp issues (mma.sync: HMMA, IMMA, DMMA) keeps those of
  /// its scheduler busy. By the card's peak rate, of which Hopper's mma.sync gets a part only: what was measured of the
  /// form, or if that is not on record 62.9 % (W. Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU
  /// Architecture", arXiv:2402.13499).
  /// @throws InvalidArgument if the card has none for it
  double tensor_cycles(const Gpu& gpu, const MachineInstruction& instruction) const;
  /// The part of the peak rate for its operands that an mma.sync gets which does so many multiply-adds: of 16-bit types
  /// one of k8 less than one of k16, and of FP8, which Hopper's passes as two of f16, half of that.
  double mma_share(const Gpu& gpu, Type operands, double multiply_adds) const;
  /// What a wgmma m64n256k16 takes over what the peak rate says: 1 unless it was measured.
  double wgmma_slowdown() const;
  /// Cycles of a line of which threads store so many bytes, in the mean of all lines: of 16 bytes what was measured
  /// while all multiprocessors store, if it was; of a whole sector, which was not, what L1's lookup takes.
  double stored_line(double bytes) const;
  /// Whether mma.sync and wgmma are measured rather than documented.
  bool has_tensor_cores() const;

  /// For a kernel whose main loop takes that many bytes of code, run by that many warps of a multiprocessor. How wide
  /// shared memory and the multiply-add pipe are is the card's data sheet's to say.
  MultiprocessorConstants multiprocessor(const Gpu& gpu, double code_bytes, int warps) const;

 private:
  std::optional<double> find(std::string_view name) const;

  std::map<std::string, double, std::less<>> constants_;
  std::optional<double> highest_hz_;
  std::string file_;
};

/// The calibration of a card, results/<card>/calibration.json; of a card without one the nearest that there is: that of
/// the H200, with the bandwidths of the card. @param measured  set to whether it is the card's own
Calibration calibration_of(const Gpu& gpu, bool& measured);

}  // namespace lapidary::model
