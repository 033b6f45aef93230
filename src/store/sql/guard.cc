#include "store/sql/guard.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/engine/query_rows.h"

namespace wherefore::store {
namespace {

// Categories of functions that only compute on their arguments.
constexpr std::array<std::string_view, 27> kCategories = {"Arithmetic",
                                                          "Arrays",
                                                          "Bit",
                                                          "Bitmap",
                                                          "Comparison",
                                                          "Conditional",
                                                          "Dates and Times",
                                                          "Distance",
                                                          "Encoding",
                                                          "Hash",
                                                          "IP Address",
                                                          "JSON",
                                                          "Logical",
                                                          "Map",
                                                          "Mathematical",
                                                          "Null",
                                                          "Rounding",
                                                          "String",
                                                          "String Replacement",
                                                          "String Search",
                                                          "String Splitting",
                                                          "Time Window",
                                                          "Tuple",
                                                          "Type Conversion",
                                                          "URL",
                                                          "UUID",
                                                          "Random Number"};
// Of the category "Other", which has everything from bar() to file().
constexpr std::array<std::string_view, 22> kOthers = {"arrayjoin",
                                                      "bar",
                                                      "formatreadabledecimalsize",
                                                      "formatreadablequantity",
                                                      "formatreadablesize",
                                                      "formatreadabletimedelta",
                                                      "identity",
                                                      "ignore",
                                                      "isconstant",
                                                      "materialize",
                                                      "neighbor",
                                                      "parsereadablesize",
                                                      "rownumberinallblocks",
                                                      "rownumberinblock",
                                                      "runningaccumulate",
                                                      "runningdifference",
                                                      "totypename",
                                                      "transform",
                                                      "lambda",
                                                      "exists",
                                                      "finalizeaggregation",
                                                      "widthbucket"};
// What may stand behind the name of an aggregate function.
constexpr std::array<std::string_view, 12> kSuffixes = {
    "If",      "Array",    "Map",    "OrNull", "OrDefault", "Distinct",
    "ForEach", "Resample", "ArgMin", "ArgMax", "State",     "Merge"};
// Nodes of the engine's reading that carry no name of anything.
constexpr std::array<std::string_view, 22> kHarmless = {"SelectWithUnionQuery",
                                                        "SelectIntersectExceptQuery",
                                                        "SelectQuery",
                                                        "ExpressionList",
                                                        "Literal",
                                                        "TablesInSelectQuery",
                                                        "TablesInSelectQueryElement",
                                                        "TableExpression",
                                                        "TableJoin",
                                                        "ArrayJoin",
                                                        "Asterisk",
                                                        "QualifiedAsterisk",
                                                        "Subquery",
                                                        "OrderByElement",
                                                        "WithElement",
                                                        "WindowDefinition",
                                                        "WindowListElement",
                                                        "ColumnsTransformerList",
                                                        "ColumnsExceptTransformer",
                                                        "ColumnsReplaceTransformer",
                                                        "ColumnsReplaceTransformer::Replacement",
                                                        "InterpolateElement"};

std::string Lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// A line of EXPLAIN AST: blanks for its depth, what it is, whose name it has.
struct Node {
  std::size_t depth = 0;
  std::string_view kind;
  std::string name;
  int children = 0;
};
Node NodeOf(std::string_view line) {
  Node node;
  node.depth = line.find_first_not_of(' ');
  if (node.depth == std::string_view::npos) return node;
  line.remove_prefix(node.depth);
  const std::size_t end = std::min(line.find(' '), line.size());
  node.kind = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  if (const std::size_t at = line.rfind("(children "); at != std::string_view::npos) {
    node.children = std::atoi(std::string(line.substr(at + 10)).c_str());
    line = line.substr(0, at > 0 ? at - 1 : 0);
  }
  if (const std::size_t at = line.rfind(" (alias "); at != std::string_view::npos)
    line = line.substr(0, at);
  node.name = line;
  return node;
}

}  // namespace

Result<SqlGuard::Known> SqlGuard::Learn(const QueryLimits& limits, const CancelToken& cancel) {
  struct Function {
    std::string name;
    std::uint8_t aggregate = 0;
    std::uint8_t any_case = 0;
    std::string category;
  };
  struct Table {
    std::string database;
    std::string table;
    std::uint8_t ours = 0;
  };
  constexpr auto kFunctions = Columns<Function>(
      Col("f.name", &Function::name), Col("toUInt8(f.is_aggregate)", &Function::aggregate),
      Col("toUInt8(f.case_insensitive)", &Function::any_case),
      // An alias is in the category of what it stands for.
      Col("toString(if(f.alias_to = '', f.categories, a.categories))", &Function::category));
  constexpr auto kTables =
      Columns<Table>(Col("database", &Table::database), Col("name", &Table::table),
                     Col("toUInt8(database = currentDatabase())", &Table::ours));
  Known known;
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      transport_, kFunctions,
      "FROM system.functions AS f LEFT JOIN system.functions AS a ON f.alias_to = a.name", limits,
      cancel, [&](Function&& f) {
        const std::string lower = Lower(f.name);
        if (f.aggregate != 0) {
          known.aggregates.insert(f.any_case != 0 ? lower : f.name);
          return;
        }
        const bool harmless = std::ranges::find(kCategories, f.category) != kCategories.end() ||
                              std::ranges::find(kOthers, lower) != kOthers.end();
        if (harmless) known.functions.insert(f.any_case != 0 ? lower : f.name);
      }));
  for (const std::string_view name : kOthers) known.functions.insert(std::string(name));
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(transport_, kTables, "FROM system.tables", limits, cancel, [&](Table&& t) {
        known.databases.insert(t.database);
        if (t.ours != 0 && !views_.contains(t.table)) known.tables.insert(t.table);
        known.tables.insert(t.database + "." + t.table);
      }));
  return known;
}

namespace {

// Judges one statement.
class Judge {
 public:
  Judge(const std::set<std::string>& views, const std::set<std::string>& functions,
        const std::set<std::string>& aggregates, const std::set<std::string>& tables,
        const std::set<std::string>& databases)
      : views_(views),
        functions_(functions),
        aggregates_(aggregates),
        tables_(tables),
        databases_(databases) {}

  Result<> Look(const std::vector<std::string>& lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Node node = NodeOf(lines[i]);
      if (i == 0) WHEREFORE_RETURN_IF_ERROR(Root(node));
      if (i > 0 && NodeOf(lines[i - 1]).kind == "TableExpression" && node.kind == "Function")
        return Refuse(fmt::format("the table function '{}'", node.name));
      WHEREFORE_RETURN_IF_ERROR(One(node));
    }
    return {};
  }

 private:
  Error Refuse(const std::string& what) const {
    return {Code::kInvalid, fmt::format("{} is not allowed here: statements read {}", what,
                                        fmt::join(views_, ", "))};
  }

  // INTO OUTFILE, FORMAT and SETTINGS are further children of it.
  Result<> Root(const Node& node) const {
    if (node.kind != "SelectWithUnionQuery" && node.kind != "SelectIntersectExceptQuery")
      return Refuse("a statement other than SELECT");
    if (node.children != 1) return Refuse("SETTINGS, FORMAT or INTO OUTFILE");
    return {};
  }

  Result<> One(const Node& node) const {
    if (node.kind == "Function") return Function(node.name);
    if (node.kind == "TableIdentifier") return Table(node.name, true);
    // `x IN table` has its table as an identifier.
    if (node.kind == "Identifier") return Table(node.name, false);
    if (node.kind == "Set") return Refuse("SETTINGS");
    if (std::ranges::find(kHarmless, node.kind) == kHarmless.end())
      return Refuse(fmt::format("'{}'", node.kind));
    return {};
  }

  Result<> Function(const std::string& name) const {
    if (functions_.contains(name) || functions_.contains(Lower(name))) return {};
    if (name == "CAST") return {};
    std::string base = name;
    for (bool shorter = true; shorter;) {
      if (aggregates_.contains(base) || aggregates_.contains(Lower(base))) return {};
      shorter = false;
      for (const std::string_view suffix : kSuffixes) {
        if (!base.ends_with(suffix) || base.size() == suffix.size()) continue;
        base.resize(base.size() - suffix.size());
        shorter = true;
        break;
      }
    }
    return Refuse(fmt::format("the function '{}'", name));
  }

  // A name that is no table at all is an alias, a column, or an error that the engine explains.
  Result<> Table(const std::string& name, bool is_table) const {
    if (views_.contains(name)) return {};
    const std::string database = name.substr(0, name.find('.'));
    const bool foreign = name.contains('.') &&
                         (tables_.contains(name) || (is_table && databases_.contains(database)));
    if (foreign || tables_.contains(name)) return Refuse(fmt::format("the table '{}'", name));
    return {};
  }

  const std::set<std::string>& views_;
  const std::set<std::string>& functions_;
  const std::set<std::string>& aggregates_;
  const std::set<std::string>& tables_;
  const std::set<std::string>& databases_;
};

}  // namespace

Result<> SqlGuard::Check(std::string_view statement, const QueryLimits& limits,
                         const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string answer, transport_.ReadStatement(statement, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadColumn<std::string>(answer));
  MutexLock lock(mutex_);
  if (!learned_) {
    WHEREFORE_ASSIGN_OR_RETURN(known_, Learn(limits, cancel));
    learned_ = true;
  }
  return Judge(views_, known_.functions, known_.aggregates, known_.tables, known_.databases)
      .Look(lines);
}

}  // namespace wherefore::store
