#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lapidary::model {

/// A GPU as data/gpus.csv describes it, a row each; the columns there say which unit they are in, here it is in the
/// name: bytes, hertz, bytes a second. Rates are dense, and one fused multiply-add is 2 FLOP. What no source states is
/// empty.
struct Gpu {
  std::string name;
  std::vector<std::string> aliases;  ///< other names, as drivers and shops write them
  int compute_capability = 0;        ///< major * 10 + minor
  int sms = 0;
  double clock_hz = 0;  ///< the highest that the SMs run at

  // What an SM does in a clock. A tensor rate of 0: it has no such mode.
  int fp32_lanes = 0;
  int fp64_lanes = 0;
  double tensor_f16_flop_per_clk = 0;  ///< f16 operands, sums in f32
  double tensor_f16_f16_flop_per_clk = 0;
  double tensor_bf16_flop_per_clk = 0;
  double tensor_tf32_flop_per_clk = 0;
  double tensor_fp8_flop_per_clk = 0;
  double tensor_int8_op_per_clk = 0;
  double tensor_f64_flop_per_clk = 0;

  // Peaks as published, in FLOP/s. Some hold at a lower clock than `clock_hz`.
  std::optional<double> published_f32_flops;
  std::optional<double> published_f16_flops;
  std::optional<double> published_bf16_flops;
  std::optional<double> published_tf32_flops;
  std::optional<double> published_fp8_flops;
  std::optional<double> published_int8_ops;
  std::optional<double> published_f64_tensor_flops;

  // What blocks share an SM's resources by (model/occupancy.hpp).
  int shared_bytes_per_sm = 0;        ///< the largest carve-out; the rest is L1
  int shared_bytes_per_block = 0;     ///< the most that a block may opt in to
  int shared_reserved_per_block = 0;  ///< what the system takes of it for each block
  int shared_unit_bytes = 0;          ///< it is handed out in multiples of that
  int l1_bytes = 0;                   ///< L1 and shared memory together
  double shared_bytes_per_clk = 0;    ///< an SM's bandwidth
  int register_bytes_per_sm = 0;
  int registers_per_sm = 0;
  int max_registers_per_thread = 0;
  int register_unit_per_warp = 0;
  int warp_unit = 0;  ///< the parts of an SM that the hardware's check of registers rounds warps up to
  int max_threads_per_sm = 0;
  int max_warps_per_sm = 0;
  int max_blocks_per_sm = 0;
  int barriers_per_sm = 0;  ///< 0: no limit, as before compute capability 9.0

  std::int64_t l2_bytes = 0;
  /// Each keeps its own copy of what its multiprocessors read; 0: not known, taken for 1.
  int l2_partitions = 0;
  std::optional<double> l2_read_bytes_per_clk;         ///< published, of the whole GPU
  std::optional<double> l2_read_measured_bytes_per_s;  ///< at best: lines that several multiprocessors want
  std::int64_t dram_bytes = 0;                         ///< by the label: 10^9 each
  double dram_bytes_per_s = 0;                         ///< published
  std::optional<double> dram_read_measured_bytes_per_s;
  double power_limit_w = 0;

  std::string note, source;
  /// Columns whose value ends with `?` in the file: no text states it, or texts disagree.
  std::vector<std::string> uncertain;

  /// That L2 holds of what multiprocessors of all its partitions read.
  std::int64_t l2_bytes_shared() const { return l2_bytes / std::max(1, l2_partitions); }

  /// As in "60 MiB of L2 in 2 partitions".
  std::string l2_text() const;

  bool is_uncertain(std::string_view column) const;
  /// Whether find_gpu() takes that name for this GPU, among others perhaps.
  bool answers_to(std::string_view name) const;

  /// Where what is measured on such a card is kept: "results/h100" for "H100 SXM5", "results/h100-pcie". In small
  /// letters, and without the socket.
  std::string results_folder() const;
};

/// The GPUs in the text of such a file: columns in any order (core/csv.hpp), then a GPU a line. Columns that the model
/// can do without may be missing or empty.
/// @throws InvalidArgument in the form `file:line:column: ...`
std::vector<Gpu> parse_gpus(std::string_view text, const std::string& file);

/// data/gpus.csv, then the file that the environment variable LAPIDARY_GPUS names, then `more` unless it is empty. A
/// later row replaces an earlier one of the same name.
/// @throws InvalidArgument if a file cannot be read, or as parse_gpus()
std::vector<Gpu> load_gpus(const std::filesystem::path& more = {});

/// The GPU of that name, in any case: all of its name, or some of its words ("h200", "rtx4090", "a100 40gb"). "NVIDIA",
/// "GeForce" and "Tesla" in front do not matter.
/// @param advice  what ends the message if there is none
/// @throws InvalidArgument naming the candidates if there are several, the nearest ones if there is none
const Gpu& find_gpu(std::span<const Gpu> gpus, std::string_view name,
                    std::string_view advice = ", and --gpu-file FILE adds your own");

/// The same among load_gpus().
Gpu find_gpu(std::string_view name);

}  // namespace lapidary::model
