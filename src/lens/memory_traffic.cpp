#include "lens/memory_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/math.hpp"
#include "layout/bank_conflict.hpp"

namespace lapidary::lens {
namespace {

using emulator::Access;
using emulator::AccessSite;

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

/// Why an operand is not read once for each tile of D that needs it.
std::string why_read_otherwise(const Question& q, const MatrixTraffic& m, double times) {
  if (m.multicast_bytes > 0) {
    const double handed_on = m.multicast_bytes / size_of(q.kernel->kind.type);
    return fmt::format("a multicast hands each read to {:.3g} blocks", (m.elements + handed_on) / m.elements);
  }
  if (q.kernel->tile.k == 0)
    return fmt::format("no tile goes through shared memory, and each of {:.4g} threads reads it for itself", times);
  if (q.kernel->order.tiles) return "tiles are of several sizes, and some rows of them have one more";
  return "blocks read parts of a tile more than once";
}

}  // namespace

std::vector<MatrixTraffic> matrix_traffic(const Question& question, const emulator::Report& written) {
  std::vector<MatrixTraffic> found;
  const Problem& p = question.problem;
  const double results = static_cast<double>(p.M) * static_cast<double>(p.N);
  std::vector<std::string> names = {"A", "B", "C", "D"};  // and what else a launcher allocates
  for (const AccessSite& site : written.sites)
    if (!site.memory.empty() && std::find(names.begin(), names.end(), site.memory) == names.end())
      names.push_back(site.memory);
  for (const std::string& name : names) {
    MatrixTraffic sum;
    sum.name = name;
    double asked = 0;
    const bool result = name == "C" || name == "D";
    const int size = size_of(result ? question.kernel->kind.result : question.kernel->kind.type);
    for (const AccessSite& site : written.sites) {
      if (!is_global(site.access) || site.memory != name) continue;
      sum.written |= is_write(site.access);
      sum.requests += site.instructions;
      sum.sectors += site.units;
      asked += static_cast<double>(site.distinct_bytes);
      sum.boxes += is_bulk(site.access) ? site.instructions : 0;
      sum.multicast_bytes += static_cast<double>(site.multicast_bytes);
      sum.elements += (is_bulk(site.access) ? static_cast<double>(site.distinct_bytes)
                                            : static_cast<double>(site.lanes) * site.bytes) /
                      size;
    }
    if (sum.requests == 0) continue;
    sum.bytes = 32.0 * static_cast<double>(sum.sectors);
    sum.sectors_per_request = ratio(static_cast<double>(sum.sectors), static_cast<double>(sum.requests));
    sum.efficiency = ratio(asked, sum.bytes);
    sum.bytes_per_result = ratio(sum.bytes, results);
    sum.accesses_per_result = ratio(sum.elements, results);
    found.push_back(sum);
  }
  return found;
}

std::vector<OperandReads> operand_reads(const Question& question, const std::vector<MatrixTraffic>& matrices) {
  const Problem& p = question.problem;
  const TileShape& tile = question.kernel->tile;
  std::vector<OperandReads> found;
  for (const MatrixTraffic& m : matrices) {
    if (m.name != "A" && m.name != "B") continue;
    const bool a = m.name == "A";
    OperandReads reads{.matrix = m.name,
                       .times = m.elements / (static_cast<double>(a ? p.M : p.N) * static_cast<double>(p.K)),
                       .tiles = a ? ceil_div<std::int64_t>(p.N, tile.n) : ceil_div<std::int64_t>(p.M, tile.m),
                       .why = {}};
    if (reads.times != static_cast<double>(reads.tiles)) reads.why = why_read_otherwise(question, m, reads.times);
    found.push_back(std::move(reads));
  }
  return found;
}

std::vector<SharedTraffic> shared_traffic(const emulator::Report& written) {
  std::vector<SharedTraffic> found;
  for (const AccessSite& site : written.sites) {
    if (is_global(site.access)) continue;
    SharedTraffic line;
    line.file = site.file;
    line.line = site.line;
    line.store = is_write(site.access);
    line.bytes = site.bytes;
    line.instructions = site.instructions;
    line.wavefronts = site.units;
    line.minimum = site.minimum;
    line.cause = conflict_cause(site.worst, line.store);
    found.push_back(std::move(line));
  }
  return found;
}

SharedLoads shared_loads(const Question& question, const Observation& observation) {
  const int size = size_of(question.kernel->kind.type);
  const emulator::Counters& total = observation.written.total;
  double elements = static_cast<double>(total.wgmma.shared_bytes) / size, written = 0, compiled = 0;
  for (const AccessSite& site : observation.written.sites) {
    if (site.access != Access::shared_load) continue;
    elements += static_cast<double>(site.lanes) * site.bytes / size;
    written += static_cast<double>(site.instructions);
  }
  for (const AccessSite& site : observation.compiled.sites)
    if (site.access == Access::shared_load) compiled += static_cast<double>(site.instructions);
  const double fma = static_cast<double>(total.multiply_adds());
  return {ratio(elements, fma), ratio(written, fma / 32), ratio(compiled, fma / 32)};
}

}  // namespace lapidary::lens
