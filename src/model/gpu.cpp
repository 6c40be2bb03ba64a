#include "model/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <sstream>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/csv.hpp"
#include "core/data_file.hpp"
#include "core/edit_distance.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/refusal.hpp"

namespace lapidary::model {
namespace {

constexpr double kibi = 1024, mebi = 1024 * 1024, mega = 1e6, giga = 1e9, tera = 1e12;

/// A column with a number: where it goes and what it is multiplied by.
struct Field {
  enum Presence : std::uint8_t {
    positive,  ///< must be there, and more than 0
    zero,      ///< must be there, and may be 0
    optional,  ///< may be missing or empty, which is 0 or nothing; otherwise at least 0
  };
  const char* column;
  std::variant<int Gpu::*, std::int64_t Gpu::*, double Gpu::*, std::optional<double> Gpu::*> member;
  Presence presence = positive;
  double unit = 1;
};

const Field fields[] = {
    {"sm_count", &Gpu::sms},
    {"boost_clock_mhz", &Gpu::clock_hz, Field::positive, mega},
    {"fp32_lanes_per_sm", &Gpu::fp32_lanes},
    {"fp64_lanes_per_sm", &Gpu::fp64_lanes, Field::optional},
    {"tensor_f16_f32acc_flop_per_clk_sm", &Gpu::tensor_f16_flop_per_clk, Field::optional},
    {"tensor_f16_f16acc_flop_per_clk_sm", &Gpu::tensor_f16_f16_flop_per_clk, Field::optional},
    {"tensor_bf16_flop_per_clk_sm", &Gpu::tensor_bf16_flop_per_clk, Field::optional},
    {"tensor_tf32_flop_per_clk_sm", &Gpu::tensor_tf32_flop_per_clk, Field::optional},
    {"tensor_fp8_f32acc_flop_per_clk_sm", &Gpu::tensor_fp8_flop_per_clk, Field::optional},
    {"tensor_int8_op_per_clk_sm", &Gpu::tensor_int8_op_per_clk, Field::optional},
    {"tensor_f64_flop_per_clk_sm", &Gpu::tensor_f64_flop_per_clk, Field::optional},
    {"peak_f32_tflops", &Gpu::published_f32_flops, Field::optional, tera},
    {"peak_f16_f32acc_tflops", &Gpu::published_f16_flops, Field::optional, tera},
    {"peak_bf16_tflops", &Gpu::published_bf16_flops, Field::optional, tera},
    {"peak_tf32_tflops", &Gpu::published_tf32_flops, Field::optional, tera},
    {"peak_fp8_f32acc_tflops", &Gpu::published_fp8_flops, Field::optional, tera},
    {"peak_int8_tops", &Gpu::published_int8_ops, Field::optional, tera},
    {"peak_f64_tensor_tflops", &Gpu::published_f64_tensor_flops, Field::optional, tera},
    {"smem_per_sm_kib", &Gpu::shared_bytes_per_sm, Field::positive, kibi},
    {"smem_per_block_optin_kib", &Gpu::shared_bytes_per_block, Field::positive, kibi},
    {"smem_reserved_per_block_bytes", &Gpu::shared_reserved_per_block, Field::zero},
    {"smem_alloc_unit_bytes", &Gpu::shared_unit_bytes},
    {"l1_plus_smem_kib", &Gpu::l1_bytes, Field::optional, kibi},
    {"smem_bytes_per_clk_sm", &Gpu::shared_bytes_per_clk},
    {"regfile_per_sm_kib", &Gpu::register_bytes_per_sm, Field::optional, kibi},
    {"regs_per_sm", &Gpu::registers_per_sm},
    {"max_regs_per_thread", &Gpu::max_registers_per_thread},
    {"reg_alloc_unit_regs_per_warp", &Gpu::register_unit_per_warp},
    {"warp_alloc_unit_warps", &Gpu::warp_unit},
    {"max_threads_per_sm", &Gpu::max_threads_per_sm},
    {"max_warps_per_sm", &Gpu::max_warps_per_sm},
    {"max_blocks_per_sm", &Gpu::max_blocks_per_sm},
    {"barriers_per_sm", &Gpu::barriers_per_sm, Field::zero},
    {"l2_mib", &Gpu::l2_bytes, Field::positive, mebi},
    {"l2_partitions", &Gpu::l2_partitions, Field::optional},
    {"l2_read_bytes_per_clk_published", &Gpu::l2_read_bytes_per_clk, Field::optional},
    {"l2_read_gb_per_s_measured", &Gpu::l2_read_measured_bytes_per_s, Field::optional, giga},
    {"dram_gb", &Gpu::dram_bytes, Field::optional, giga},
    {"dram_gb_per_s", &Gpu::dram_bytes_per_s, Field::positive, giga},
    {"dram_read_gb_per_s_measured", &Gpu::dram_read_measured_bytes_per_s, Field::optional, giga},
    {"power_limit_w", &Gpu::power_limit_w, Field::optional},
};

constexpr std::string_view other_columns[] = {"gpu", "aliases", "compute_capability", "note", "source"};
constexpr std::string_view required_columns[] = {"gpu", "compute_capability"};

const Field* find_field(std::string_view column) {
  const auto* field = std::find_if(std::begin(fields), std::end(fields),
                                   [&](const Field& f) { return column == f.column; });
  return field == std::end(fields) ? nullptr : field;
}

/// Reads what a table of GPUs has, and refuses by file, line and column what it should not have.
struct Reader {
  const CsvTable& table;

  void check_columns() const {
    for (const CsvValue& title : table.header) {
      if (find_field(title.text)) continue;
      if (std::find(std::begin(other_columns), std::end(other_columns), title.text) != std::end(other_columns))
        continue;
      std::string_view nearest = fields[0].column;
      const auto consider = [&](std::string_view column) {
        if (edit_distance(column, title.text) < edit_distance(nearest, title.text)) nearest = column;
      };
      for (const Field& field : fields) consider(field.column);
      for (const std::string_view column : other_columns) consider(column);
      table.refuse(title, fmt::format("no column is named '{}'; the nearest is {}", title.text, nearest));
    }
    for (const std::string_view column : required_columns) table.column(column);
    for (const Field& field : fields) {
      if (field.presence != Field::optional) table.column(field.column);
    }
  }

  double number(const CsvValue& place, std::string_view column, std::string_view text, double least) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < least) {
      table.refuse(place, fmt::format("{} is '{}'; it must be a number{}, with ? behind it if it is uncertain", column,
                                      place.text, least > 0 ? " above 0" : " of at least 0"));
    }
    return value;
  }

  int capability(const CsvValue& place) const {
    const std::string_view text = place.text;
    const std::size_t dot = text.find('.');
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const bool legal = dot != std::string_view::npos && dot >= 1 && dot <= 2 && text.size() == dot + 2 &&
                       std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(dot), is_digit) &&
                       is_digit(text.back());
    if (!legal) table.refuse(place, fmt::format("compute_capability is '{}'; it is written as in 9.0", text));
    int major = 0;
    std::from_chars(text.data(), text.data() + dot, major);
    return major * 10 + (text.back() - '0');
  }

  void set_number(Gpu& gpu, const Field& field, const CsvValue& place) const {
    std::string_view text = place.text;
    if (!text.empty() && text.back() == '?') {
      gpu.uncertain.emplace_back(field.column);
      text.remove_suffix(1);
    }
    if (text.empty() && field.presence == Field::optional) return;
    // The least number that is not 0 stands for "above 0".
    const double least = field.presence == Field::positive ? std::numeric_limits<double>::min() : 0;
    const double value = number(place, field.column, text, least) * field.unit;
    const auto whole = [&](auto& member) {
      using Integer = std::remove_reference_t<decltype(member)>;
      constexpr double most = static_cast<double>(std::numeric_limits<Integer>::max());
      if (value >= most) {
        table.refuse(place,
                     fmt::format("{} is '{}'; it must be below {}", field.column, place.text, most / field.unit));
      }
      if (value != std::floor(value)) {
        table.refuse(place, fmt::format("{} is '{}'; it must come to a whole number", field.column, place.text));
      }
      member = static_cast<Integer>(value);
    };
    if (const auto* member = std::get_if<int Gpu::*>(&field.member)) return whole(gpu.**member);
    if (const auto* member = std::get_if<std::int64_t Gpu::*>(&field.member)) return whole(gpu.**member);
    if (const auto* member = std::get_if<double Gpu::*>(&field.member)) {
      gpu.** member = value;
      return;
    }
    gpu.*std::get<std::optional<double> Gpu::*>(field.member) = value;
  }

  Gpu row(const std::vector<CsvValue>& values) const {
    Gpu gpu;
    for (std::size_t c = 0; c < values.size(); ++c) {
      const std::string_view column = table.header[c].text;
      const CsvValue& place = values[c];
      if (const Field* field = find_field(column)) {
        set_number(gpu, *field, place);
      } else if (column == "gpu") {
        gpu.name = place.text;
        if (gpu.name.empty()) table.refuse(place, "the name of the GPU is missing");
      } else if (column == "compute_capability") {
        gpu.compute_capability = capability(place);
      } else if (column == "note") {
        gpu.note = place.text;
      } else if (column == "source") {
        gpu.source = place.text;
      } else {
        for (std::string_view rest = place.text; !rest.empty();) {
          const std::size_t end = std::min(rest.find(';'), rest.size());
          gpu.aliases.emplace_back(rest.substr(0, end));
          rest.remove_prefix(std::min(end + 1, rest.size()));
        }
      }
    }
    return gpu;
  }
};

std::string read(const std::filesystem::path& path) {
  if (std::optional<std::string> text = read_file(path)) return *std::move(text);
  throw InvalidArgument(
      fmt::format("cannot read {}; it should be a table of GPUs such as data/gpus.csv", path.string()));
}

void merge(std::vector<Gpu>& gpus, std::vector<Gpu> more) {
  for (Gpu& gpu : more) {
    const auto same = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& g) { return g.name == gpu.name; });
    if (same == gpus.end()) {
      gpus.push_back(std::move(gpu));
    } else {
      *same = std::move(gpu);
    }
  }
}

/// The words of a name in small letters, without those that every card of a maker has.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  std::erase_if(words,
                [](const std::string& w) { return w.empty() || w == "nvidia" || w == "geforce" || w == "tesla"; });
  return words;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, "")); }

/// Whether `word` is made of whole neighbouring words of the name: "rtx4090" of "RTX 4090", but "a10" not of "A100".
bool is_part(const std::string& word, const std::vector<std::string>& name) {
  for (std::size_t first = 0; first < name.size(); ++first) {
    std::string run;
    for (std::size_t last = first; last < name.size() && run.size() < word.size(); ++last) run += name[last];
    if (run == word) return true;
  }
  return false;
}

/// How well a GPU answers to a name.
enum class Match : std::uint8_t { none, part, whole };

Match match(const Gpu& gpu, const std::vector<std::string>& asked) {
  if (asked.empty()) return Match::none;
  std::vector<std::string> names = gpu.aliases;
  names.push_back(gpu.name);
  Match best = Match::none;
  for (const std::string& name : names) {
    const std::vector<std::string> words = words_of(name);
    if (joined(words) == joined(asked)) return Match::whole;
    const auto in_name = [&](const std::string& word) { return is_part(word, words); };
    if (std::all_of(asked.begin(), asked.end(), in_name)) best = Match::part;
  }
  return best;
}

}  // namespace

std::string Gpu::l2_text() const {
  return fmt::format("{:g} MiB of L2{}", static_cast<double>(l2_bytes) / (1 << 20),
                     l2_partitions > 1 ? fmt::format(" in {} partitions", l2_partitions) : "");
}

bool Gpu::is_uncertain(std::string_view column) const {
  return std::find(uncertain.begin(), uncertain.end(), column) != uncertain.end();
}

bool Gpu::answers_to(std::string_view asked) const { return match(*this, words_of(asked)) != Match::none; }

std::string Gpu::results_folder() const {
  std::string folder;
  std::istringstream words(name);
  for (std::string word; words >> word;) {
    if (word.starts_with("SXM")) continue;
    folder += folder.empty() ? "results/" : "-";
    for (const char c : word) folder += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return folder;
}

std::vector<Gpu> parse_gpus(std::string_view text, const std::string& file) {
  const CsvTable table = parse_csv(text, file);
  const Reader reader{table};
  reader.check_columns();
  std::vector<Gpu> gpus;
  for (const std::vector<CsvValue>& row : table.rows) merge(gpus, {reader.row(row)});
  return gpus;
}

std::vector<Gpu> load_gpus(const std::filesystem::path& more) {
  std::vector<std::filesystem::path> files = {data_file("data/gpus.csv")};
  if (const char* const own = std::getenv("LAPIDARY_GPUS"); own && *own) files.emplace_back(own);
  if (!more.empty()) files.push_back(more);
  std::vector<Gpu> gpus;
  for (const std::filesystem::path& file : files) merge(gpus, parse_gpus(read(file), file.string()));
  return gpus;
}

const Gpu& find_gpu(std::span<const Gpu> gpus, std::string_view name, std::string_view advice) {
  const std::vector<std::string> asked = words_of(name);
  std::vector<const Gpu*> whole, parts;
  for (const Gpu& gpu : gpus) {
    const Match found = match(gpu, asked);
    if (found == Match::whole) whole.push_back(&gpu);
    if (found == Match::part) parts.push_back(&gpu);
  }
  // "A10" is a card, though its name is a part of others'.
  const std::vector<const Gpu*>& found = whole.empty() ? parts : whole;
  if (found.size() == 1) return *found.front();
  std::vector<std::string_view> names;
  for (const Gpu* gpu : found) names.push_back(gpu->name);
  if (!found.empty()) {
    throw Refusal(RefusalId::card_ambiguous,
                  fmt::format("'{}' may be {}; name one of them", name, fmt::join(names, " or ")));
  }
  if (gpus.empty()) throw InvalidArgument("the table of GPUs is empty; see data/gpus.csv");
  const auto distance = [&](const Gpu& gpu) {
    std::size_t least = edit_distance(joined(words_of(gpu.name)), joined(asked));
    for (const std::string& word : words_of(gpu.name)) least = std::min(least, edit_distance(word, joined(asked)));
    return least;
  };
  const auto nearest = std::min_element(gpus.begin(), gpus.end(),
                                        [&](const Gpu& a, const Gpu& b) { return distance(a) < distance(b); });
  // Of a name most of which is another the nearest is none that was meant.
  const bool is_near = 2 * distance(*nearest) <= joined(asked).size();
  throw Refusal(RefusalId::card_unknown,
                fmt::format("no GPU is named '{}'{}. lapidary gpus lists them{}", name,
                            is_near ? fmt::format("; the nearest is {}", nearest->name) : "", advice));
}

Gpu find_gpu(std::string_view name) {
  const std::vector<Gpu> gpus = load_gpus();
  return find_gpu(gpus, name);
}

}  // namespace lapidary::model
