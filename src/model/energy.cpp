#include "model/energy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/error.hpp"
#include "model/data.hpp"

namespace lapidary::model {
namespace {

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  constexpr std::size_t last = 4;  // the source is a sentence, and may have commas
  while (columns.size() < last && line.find(',') != line.npos) {
    columns.push_back(line.substr(0, line.find(',')));
    line.remove_prefix(line.find(',') + 1);
  }
  columns.push_back(line);
  return columns;
}

}  // namespace

std::optional<EnergyRates> energy_rates(const Gpu& gpu, std::string_view type) {
  const std::filesystem::path path = data_file("data/energy.csv");
  std::ifstream file(path);
  if (!file) throw InvalidArgument(fmt::format("{} cannot be read", path.string()));
  std::string line;
  int number = 0;
  while (std::getline(file, line)) {
    const std::vector<std::string_view> columns = columns_of(line);
    if (++number == 1 || line.empty()) continue;
    const auto positive = [&](std::size_t column) {
      double value = 0;
      if (column < columns.size())
        std::from_chars(columns[column].data(), columns[column].data() + columns[column].size(), value);
      if (value <= 0) throw InvalidArgument(fmt::format("{}:{}: no positive number", path.string(), number));
      return value;
    };
    const double per_flop = positive(2), per_byte = positive(3);
    if (columns[0] == gpu.name && columns[1] == type)
      return EnergyRates{per_flop * 1e-12, per_byte * 1e-12, std::string(columns[4])};
  }
  return std::nullopt;
}

Energy energy(const Gpu& gpu, const EnergyRates& rates, double flop, double bytes, double seconds) {
  Energy e{flop * rates.joules_per_flop, bytes * rates.joules_per_byte, seconds, 1};
  if (gpu.power_limit_w > 0) e.seconds = std::max(seconds, e.joules() / gpu.power_limit_w);
  e.clock = seconds / e.seconds;
  return e;
}

}  // namespace lapidary::model
