import { useQuery } from "@connectrpc/connect-query";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { useCatalogue } from "../../catalogue.ts";
import { capitalize, truncateMiddle } from "../../format.ts";
import { Button, Field, Input, Select } from "../../ui/index.ts";
import { dateRangeError, isFiltered, clearFilter, type Filter } from "./filter.ts";

/** Inputs for the filter of a list; `statuses` are the options of that list. */
export function FilterBar({
  filter,
  statuses,
  onFilter,
}: {
  filter: Filter;
  statuses: readonly string[];
  onFilter: (filter: Filter) => void;
}) {
  const tools = useToolOptions(filter.tool);
  const keys = useKeyOptions(filter.key);
  return (
    <form className="filter" role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <FilterSelect
        label="Status"
        value={filter.status}
        options={statuses.map((status) => ({ value: status, label: capitalize(status) }))}
        onChange={(status) => onFilter({ ...filter, status })}
      />
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
function useKeyOptions(chosen: string): readonly Option[] {
  const { data } = useQuery(KeyService.method.listKeys, {});
  const options = (data?.keys ?? []).flatMap(({ key }) =>
    key ? [{ value: key.keyId, label: key.name === "" ? truncateMiddle(key.keyId) : key.name }] : [],
  );
  return withSelected(options, chosen, truncateMiddle(chosen));
}

function withSelected(options: readonly Option[], value: string, label: string): readonly Option[] {
  return value === "" || options.some((option) => option.value === value)
    ? options
    : [...options, { value, label }];
}
