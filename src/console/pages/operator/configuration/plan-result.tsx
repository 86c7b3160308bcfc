import type { ConfigChange, PlanConfigResponse } from "#gen/toolgate/v1/operations_service_pb.ts";
import { pluralize } from "../../../format.ts";
import { Note, Status, Table, type Column } from "../../../ui/index.ts";

const COLUMNS: readonly Column<ConfigChange>[] = [
  { head: "Change", cell: ({ text }) => <span className="plan-text">{text}</span> },
  { head: "Kind", cell: ({ kind }) => kind },
  {
    head: "Callers",
    cell: ({ affectsCallers }) =>
      affectsCallers ? <Status kind="warn">Notice it</Status> : <span className="faint">unaffected</span>,
  },
];

/** The changes of a draft, those that break callers marked. */
export function PlanResult({ plan: { version, changes, warnings } }: { plan: PlanConfigResponse }) {
  const breaking = changes.filter(({ affectsCallers }) => affectsCallers).length;
  return (
    <div className="plan" aria-live="polite">
      {warnings.map((warning) => (
        <Note key={warning} tone="warn" title={warning} />
      ))}
      <p>
        {pluralize(changes.length, "change")} from {version === 0 ? "the defaults" : `version ${version}`}
        {breaking > 0 && `, ${breaking} of which callers notice`}
      </p>
      {changes.length > 0 && (
        <Table caption="Changes" columns={COLUMNS} rows={changes} rowKey={({ text }) => text} empty={null} />
      )}
    </div>
  );
}
