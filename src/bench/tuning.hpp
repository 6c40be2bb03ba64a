#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace lapidary::bench {

/// What was measured of kernels and tiles, run after run: the document of `lapidary tune` (docs/json.md).
class TuningRecord {
 public:
  using Json = nlohmann::ordered_json;

  /// @param path  what is known from before; nothing if it is empty or there is no such file
  /// @throws InvalidArgument if the file is no JSON
  explicit TuningRecord(const std::string& path);

  void add_receipt(const Json& receipt) { document_["receipts"].push_back(receipt); }
  /// Takes the place of an older measurement of the same work by the same kernel and tile.
  void add_measurement(Json measurement);

  /// Has the receipts that a measurement refers to by their dates, and as `best` of each type, size and mode the
  /// fastest that was ever measured, by its share of what cuBLAS reached beside it: rates of different runs are those
  /// of a card at different temperatures. Fast accumulation is nobody's choice.
  Json document() const;

 private:
  Json document_;
};

}  // namespace lapidary::bench
