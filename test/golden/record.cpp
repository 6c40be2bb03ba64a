// Runs every instruction of tensor cores on a GPU and records operands and results, which golden_test holds the
// emulated machine against:
//
//   record_golden FOLDER
//
// writes FOLDER/INSTRUCTION.json for each of them. Bytes are in the order of memory; matrices are as in
// emulator/tensor_core.hpp.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <lapidary_commit.hpp>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "device/device.hpp"
#include "golden/tiles.hpp"

namespace lapidary::test {
namespace gpu {
std::span<const Instruction> instructions();
}
namespace {

using Json = nlohmann::ordered_json;

Json receipt(const Device& device) {
  const auto version = [](cudaError_t (*query)(int*)) {
    int number = 0;
    return query(&number) == cudaSuccess ? Json(fmt::format("{}.{}", number / 1000, number % 1000 / 10)) : Json();
  };
  return {{"card", device.properties().name},
          {"driver_supports_cuda", version(cudaDriverGetVersion)},
          {"cuda_runtime", version(cudaRuntimeGetVersion)},
          {"nvcc", LAPIDARY_NVCC_VERSION},
          {"commit", LAPIDARY_COMMIT}};
}

void record(const std::filesystem::path& folder) {
  const auto device = open_gpu();
  if (device->properties().compute_capability != 90)
    throw InvalidArgument(fmt::format("this is {}, of compute capability {}; the record is of Hopper, 90",
                                      device->properties().name, device->properties().compute_capability));
  std::filesystem::create_directories(folder);
  for (const Instruction& instruction : gpu::instructions()) {
    const auto tiles = make_tiles(instruction);
    const auto results = execute(*device, instruction, tiles);
    Json json = {{"instruction", instruction.name}, {"receipt", receipt(*device)}, {"tiles", Json::array()}};
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const Tile& tile = tiles[i];
      json["tiles"].push_back({{"data", tile.data},
                               {"a", to_hex(tile.a)},
                               {"b", to_hex(tile.b)},
                               {"c", to_hex(tile.c)},
                               {"d", to_hex(results[i])}});
    }
    std::ofstream file(folder / (std::string(instruction.name) + ".json"));
    file << json.dump(1) << '\n';
    file.close();
    if (!file) throw InvalidArgument("cannot write to " + folder.string());
    fmt::print("{}: {} tiles\n", instruction.name, tiles.size());
  }
}

}  // namespace
}  // namespace lapidary::test

int main(int argc, char** argv) try {
  if (argc != 2) throw lapidary::InvalidArgument("usage: record_golden FOLDER");
  lapidary::test::record(argv[1]);
} catch (const std::exception& error) {
  fmt::print(stderr, "error: {}\n", error.what());
  return 1;
}
