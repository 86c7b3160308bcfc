import { useQuery } from "@connectrpc/connect-query";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { KeyService as OperatorKeyService } from "#gen/toolgate/v1/key_service_pb.ts";
import { useCatalogue } from "../../rpc.ts";
import { capitalize, truncateMiddle } from "../../format.ts";
import { Button, TextField, SelectField } from "../../ui/index.ts";
import { dateRangeError, isFiltered, clearFilter, type Filter, type FilteredListProps } from "./filter.ts";

/** Inputs for the filter of a list; `statuses` and `outcomes` are the options of that list. */
export function FilterBar({
  filter,
  statuses,
  outcomes = [],
  accountId,
  onFilter,
}: FilteredListProps & { statuses: readonly string[]; outcomes?: readonly string[] }) {
  const tools = useToolOptions(filter.tool);
  const keys = useKeyOptions(filter.key, accountId);
  const field = (name: Exclude<keyof Filter, "tab">) => ({
    value: filter[name],
    onChange: (value: string) => onFilter({ ...filter, [name]: value }),
  });
  return (
    <form className="filter" role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <FilterSelect label="Status" options={optionsOf(statuses)} {...field("status")} />
      {outcomes.length > 0 && (
        <FilterSelect label="Outcome" options={optionsOf(outcomes)} {...field("outcome")} />
      )}
      <FilterSelect label="Tool" options={tools} {...field("tool")} />
      <FilterSelect label="Key" options={keys} {...field("key")} />
      {filter.model !== "" && (
        <FilterSelect
          label="Model"
          options={[{ value: filter.model, label: filter.model }]}
          {...field("model")}
        />
      )}
      <DayInput label="From" {...field("from")} />
      <DayInput label="To" problem={dateRangeError(filter)} {...field("to")} />
      {isFiltered(filter) && (
        <Button tone="quiet" icon="cross" onClick={() => onFilter(clearFilter(filter))}>
          Clear
        </Button>
      )}
    </form>
  );
}

function optionsOf(names: readonly string[]): readonly Option[] {
  return names.map((name) => ({ value: name, label: LABELS[name] ?? capitalize(name) }));
}

const LABELS: Readonly<Record<string, string>> = { timeout: "Timed out", limit: "Limit exceeded" };

interface Option {
  value: string;
  label: string;
}

interface FilterSelectProps {
  label: string;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}

function FilterSelect({ label, value, options, onChange }: FilterSelectProps) {
  return (
    <SelectField
      label={label}
      value={value}
      options={[{ value: "", label: "All" }, ...options]}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

interface DayInputProps {
  label: string;
  value: string;
  problem?: string | undefined;
  onChange: (value: string) => void;
}

function DayInput({ label, value, problem, onChange }: DayInputProps) {
  return (
    <TextField
      label={`${label} (UTC day)`}
      error={problem}
      type="date"
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

/** Returns the tools of the catalogue, plus the selected one if the catalogue no longer has it. */
function useToolOptions(chosen: string): readonly Option[] {
  const { data } = useCatalogue();
  const options = (data?.tools ?? []).map(({ name }) => ({ value: name, label: name }));
  return withSelected(options, chosen, chosen);
}

/** Returns all keys of the account, revoked ones included, plus the selected one while they load. */
function useKeyOptions(chosen: string, accountId: string | undefined): readonly Option[] {
  const own = useQuery(KeyService.method.listKeys, {}, { enabled: accountId === undefined });
  const others = useQuery(
    OperatorKeyService.method.listKeys,
    { accountId: accountId ?? "" },
    { enabled: accountId !== undefined },
  );
  const keys = accountId === undefined ? own.data?.keys.map(({ key }) => key) : others.data?.keys;
  const options = (keys ?? []).flatMap((key) =>
    key ? [{ value: key.keyId, label: key.name === "" ? truncateMiddle(key.keyId) : key.name }] : [],
  );
  return withSelected(options, chosen, truncateMiddle(chosen));
}

function withSelected(options: readonly Option[], value: string, label: string): readonly Option[] {
  return value === "" || options.some((option) => option.value === value)
    ? options
    : [...options, { value, label }];
}
