#include "model/energy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/csv.hpp"
#include "core/data_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"

namespace lapidary::model {

std::optional<EnergyRates> energy_rates(const Gpu& gpu, std::string_view type) {
  const std::filesystem::path path = data_file("data/energy.csv");
  const std::optional<std::string> text = read_file(path);
  if (!text) throw InvalidArgument(fmt::format("{} cannot be read", path.string()));
  const CsvTable table = parse_csv(*text, path.string());
  const std::size_t card = table.column("gpu"), operands = table.column("type"), flop = table.column("pj_per_flop"),
                    byte = table.column("pj_per_byte_into_sm"), source = table.column("source");
  const auto joules = [&](const CsvValue& picojoules) {
    double value = 0;
    const char* const end = picojoules.text.data() + picojoules.text.size();
    const auto [stop, error] = std::from_chars(picojoules.text.data(), end, value);
    constexpr double pico = 1e-12;
    // Neither too small nor too large a number in joules, either.
    if (error != std::errc() || stop != end || value < 0 || !std::isnormal(value * pico))
      table.refuse(picojoules, "no positive number");
    return value * pico;
  };
  for (const std::vector<CsvValue>& row : table.rows) {
    const EnergyRates rates{joules(row[flop]), joules(row[byte]), row[source].text};
    if (row[card].text == gpu.name && row[operands].text == type) return rates;
  }
  return std::nullopt;
}

Energy energy(const Gpu& gpu, const EnergyRates& rates, double flop, double bytes, double seconds) {
  Energy e{flop * rates.joules_per_flop, bytes * rates.joules_per_byte, seconds};
  if (gpu.power_limit_w > 0) e.seconds = std::max(seconds, e.joules() / gpu.power_limit_w);
  return e;
}

}  // namespace lapidary::model
