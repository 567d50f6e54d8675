#include "cli/services/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/text.h"

namespace sisyfs::cli {
namespace {

constexpr const char* kLegend =
    "kept: by every crash state of the search. kept~: by every prefix of the writes; the search of all "
    "subsets "
    "did not end.\nbroken: with the token that replays it. unknown: the search did not end, or the call is "
    "missing.\n";

std::string word_of(const ServiceCell& cell) {
  switch (cell.keeps) {
    case Keeps::kKept:
      return cell.bound == "prefixes" ? "kept~" : "kept";
    case Keeps::kBroken:
      return "broken";
    case Keeps::kUnknown:
      break;
  }
  return "unknown";
}

std::string name_of(const ServiceRow& row) {
  if (row.settings.empty()) return row.target;
  return fmt::format("{} {}", row.target, fmt::join(row.settings, " "));
}

// Calls use(row, cell) for each cell of a kind.
template <class Use>
void each(std::span<const ServiceRow> rows, Keeps keeps, Use use) {
  for (const ServiceRow& row : rows)
    for (const ServiceCell& cell : row.cells)
      if (cell.keeps == keeps) use(row, cell);
}

}  // namespace

std::string text_table(std::span<const ServiceRow> rows) {
  size_t width = 4;
  for (const ServiceRow& row : rows) width = std::max(width, name_of(row).size());
  std::vector<const Service*> columns;
  for (const ServiceRow& row : rows)
    for (const ServiceCell& cell : row.cells)
      if (std::find(columns.begin(), columns.end(), cell.service) == columns.end())
        columns.push_back(cell.service);
  std::string out = fmt::format("{:<{}}", "", width);
  const auto wide = [](const Service& service) { return std::max<size_t>(service.head.size(), 7) + 2; };
  for (const Service* service : columns) out += fmt::format("  {:<{}}", service->head, wide(*service) - 2);
  const auto end_line = [&] {
    while (out.ends_with(' ')) out.pop_back();
    out += "\n";
  };
  end_line();
  for (const ServiceRow& row : rows) {
    out += fmt::format("{:<{}}", name_of(row), width);
    for (const ServiceCell& cell : row.cells)
      out += fmt::format("  {:<{}}", word_of(cell), wide(*cell.service) - 2);
    end_line();
  }
  out += fmt::format("\n{}", kLegend);
  std::string broken, unknown;
  each(rows, Keeps::kBroken, [&](const ServiceRow& row, const ServiceCell& cell) {
    broken += fmt::format("  {}, {}: {}\n    ./sisyfs replay {}\n", name_of(row), cell.service->head,
                          cell.why, cell.token);
  });
  each(rows, Keeps::kUnknown, [&](const ServiceRow& row, const ServiceCell& cell) {
    unknown += fmt::format("  {}, {}: {}\n", name_of(row), cell.service->head, cell.why);
  });
  if (!broken.empty()) out += "\nBroken:\n" + broken;
  if (!unknown.empty()) out += "\nUnknown:\n" + unknown;
  return out;
}

std::string markdown_table(std::span<const ServiceRow> rows) {
  std::string out = "| file system |", line = "| --- |";
  if (!rows.empty())
    for (const ServiceCell& cell : rows.front().cells) {
      out += fmt::format(" {} |", cell.service->head);
      line += " --- |";
    }
  out += "\n" + line + "\n";
  for (const ServiceRow& row : rows) {
    out += fmt::format("| {} |", name_of(row));
    for (const ServiceCell& cell : row.cells) {
      const std::string word = word_of(cell);
      out += fmt::format(" {} |", cell.keeps == Keeps::kBroken ? "**" + word + "**" : word);
    }
    out += "\n";
  }
  out += fmt::format("\n{}", kLegend);
  std::string broken, unknown;
  each(rows, Keeps::kBroken, [&](const ServiceRow& row, const ServiceCell& cell) {
    broken +=
        fmt::format("| {} | {} | {} | `{}` |\n", name_of(row), cell.service->head, cell.why, cell.token);
  });
  each(rows, Keeps::kUnknown, [&](const ServiceRow& row, const ServiceCell& cell) {
    unknown += fmt::format("| {} | {} | {} |\n", name_of(row), cell.service->head, cell.why);
  });
  if (!broken.empty())
    out += "\n| file system | broken | what came back | token |\n| --- | --- | --- | --- |\n" + broken;
  if (!unknown.empty()) out += "\n| file system | unknown | why |\n| --- | --- | --- |\n" + unknown;
  return out;
}

nlohmann::ordered_json json_table(std::span<const ServiceRow> rows, double seconds) {
  nlohmann::ordered_json targets = nlohmann::ordered_json::array();
  for (const ServiceRow& row : rows) {
    nlohmann::ordered_json kept = nlohmann::ordered_json::object();
    for (const ServiceCell& cell : row.cells) {
      nlohmann::ordered_json one;
      if (cell.keeps == Keeps::kKept) one["kept"] = true;
      if (cell.keeps == Keeps::kBroken)
        one = {{"broken", true}, {"token", cell.token}, {"finding", cell.finding}};
      if (cell.keeps == Keeps::kUnknown) one["unknown"] = true;
      if (!cell.why.empty()) one["why"] = cell.why;
      if (!cell.also.empty()) one["also"] = cell.also;
      one["bound"] = cell.bound;
      one["crash_states"] = cell.crash_states;
      one["seconds"] = cell.seconds;
      kept[std::string(cell.service->name)] = std::move(one);
    }
    targets.push_back({{"target", row.target}, {"settings", row.settings}, {"services", std::move(kept)}});
  }
  nlohmann::ordered_json says = nlohmann::ordered_json::object();
  for (const Service& service : services()) says[std::string(service.name)] = service.says;
  return {{"schema", "sisyfs.services/1"},
          {"version", SISYFS_VERSION},
          {"services", std::move(says)},
          {"targets", std::move(targets)},
          {"seconds", seconds}};
}

}  // namespace sisyfs::cli
