#include "bench/calibrate.hpp"
#include "bench/energy_loads.hpp"
#include "bench/receipt.hpp"
#include "bench/regret.hpp"
#include "bench/timing.hpp"
#include "core/error.hpp"

// What a program without CUDA has in place of timing.cpp, receipt.cpp, regret.cpp, calibrate.cu and energy_loads.cu.

namespace lapidary::bench {

LadderTimes time_ladder(Device&, const Problem&, std::span<const KernelEntry* const>, const OnProgress&) {
  throw InvalidArgument("this program was built without CUDA and times no kernels");
}

KernelTime time_kernel(Device&, const Problem&, const Contestant::Launch&, const OnProgress&) {
  throw InvalidArgument("this program was built without CUDA and times no kernels");
}

LadderReport measure_ladder(Device&, std::span<const Task>, const MeasureOptions&, const OnProgress&,
                            const OnMeasured&) {
  throw InvalidArgument("this program was built without CUDA and times no kernels");
}

Regret measure_regret(Device&, Context&, const Problem&, const RegretOptions&, const OnProgress&) {
  throw InvalidArgument("this program was built without CUDA and times no kernels");
}

std::vector<Constant> calibrate(Device&) {
  throw InvalidArgument("this program was built without CUDA and calibrates no card");
}

std::vector<EnergyLoad> measure_energy(Device&, double, const std::function<void(const EnergyLoad&)>&) {
  throw InvalidArgument("this program was built without CUDA and calibrates no card");
}

nlohmann::ordered_json machine_receipt(const Device&) {
  throw InvalidArgument("this program was built without CUDA and measures nothing");
}

}  // namespace lapidary::bench
