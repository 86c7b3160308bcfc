import { useQuery } from "@connectrpc/connect-query";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { KeyService as OperatorKeyService } from "#gen/toolgate/v1/key_service_pb.ts";
import { useCatalogue } from "../../catalogue.ts";
import { capitalize, truncateMiddle } from "../../format.ts";
import { Button, Field, Input, Select } from "../../ui/index.ts";
import { dateRangeError, isFiltered, clearFilter, type Filter } from "./filter.ts";

/** Inputs for the filter of a list; `statuses` and `outcomes` are the options of that list. */
export function FilterBar({
  filter,
  statuses,
  outcomes = [],
  accountId,
  onFilter,
}: {
  filter: Filter;
  statuses: readonly string[];
  outcomes?: readonly string[];
  /** Account of the list; the reader's own if undefined. */
  accountId: string | undefined;
  onFilter: (filter: Filter) => void;
}) {
  const tools = useToolOptions(filter.tool);
  const keys = useKeyOptions(filter.key, accountId);
  return (
    <form className="filter" role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <FilterSelect
        label="Status"
        value={filter.status}
        options={optionsOf(statuses)}
        onChange={(status) => onFilter({ ...filter, status })}
      />
      {outcomes.length > 0 && (
        <FilterSelect
          label="Outcome"
          value={filter.outcome}
          options={optionsOf(outcomes)}
          onChange={(outcome) => onFilter({ ...filter, outcome })}
        />
      )}
      <FilterSelect
        label="Tool"
        value={filter.tool}
        options={tools}
        onChange={(tool) => onFilter({ ...filter, tool })}
      />
      <FilterSelect
        label="Key"
        value={filter.key}
        options={keys}
        onChange={(key) => onFilter({ ...filter, key })}
      />
      {filter.model !== "" && (
        <FilterSelect
          label="Model"
          value={filter.model}
          options={[{ value: filter.model, label: filter.model }]}
          onChange={(model) => onFilter({ ...filter, model })}
        />
      )}
      <DayInput label="From" value={filter.from} onChange={(from) => onFilter({ ...filter, from })} />
      <DayInput
        label="To"
        value={filter.to}
        problem={dateRangeError(filter)}
        onChange={(to) => onFilter({ ...filter, to })}
      />
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

function FilterSelect({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}) {
  return (
    <Field label={label}>
      {(control) => (
        <Select
          {...control}
          value={value}
          options={[{ value: "", label: "All" }, ...options]}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
}

function DayInput({
  label,
  value,
  problem,
  onChange,
}: {
  label: string;
  value: string;
  problem?: string | undefined;
  onChange: (value: string) => void;
}) {
  return (
    <Field label={`${label} (UTC day)`} error={problem}>
      {(control) => (
        <Input
          {...control}
          type="date"
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
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
