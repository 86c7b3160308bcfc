import type { KeyWithUse } from "#gen/toolgate/console/v1/key_service_pb.ts";
import type { KeyGroup } from "#gen/toolgate/v1/budget_pb.ts";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { pluralize, formatUsd } from "../../format.ts";
import { useBlockedHint } from "../../session.tsx";
import {
  Button,
  EmptyState,
  Money,
  Name,
  RowButton,
  Status,
  Table,
  Time,
  type Column,
  actionColumn,
} from "../../ui/index.ts";
import { Budgets } from "./budgets.tsx";
import { keyState, isKeyActive } from "./key-state.ts";

export interface KeyActions {
  /** Whether the keys are those of connected apps. */
  areApps?: boolean;
  onEdit: (key: KeyWithUse) => void;
  onRotate: (key: KeyWithUse) => void;
  onRevoke: (key: KeyWithUse) => void;
  /** Undefined while the form is open. */
  onCreate: (() => void) | undefined;
}

export function KeyTable({
  keys,
  groups,
  now,
  onCreate,
  areApps = false,
  ...actions
}: KeyActions & {
  keys: readonly KeyWithUse[] | undefined;
  groups: readonly KeyGroup[];
  now: Date;
}) {
  const columns: readonly Column<KeyWithUse>[] = [
    { head: areApps ? "App" : "Key", cell: (use) => <KeyName use={use} now={now} /> },
    { head: "Limits", cell: (use) => <Limits use={use} now={now} groups={groups} /> },
    { head: "Budget", align: "end", cell: (use) => <KeyBudgets use={use} now={now} groups={groups} /> },
    { head: "Spent", align: "end", cell: (use) => <Spent use={use} /> },
    {
      head: "Last used",
      align: "end",
      cell: ({ lastUsedAt }) => <Time at={lastUsedAt} relative none="never" />,
    },
    actionColumn((use) => isKeyActive(use, now) && <Actions use={use} {...actions} />),
  ];
  return (
    <Table
      caption={areApps ? "Connected apps" : "API keys"}
      columns={columns}
      rows={keys}
      rowKey={({ key }) => key?.keyId ?? ""}
      dim={(use) => !isKeyActive(use, now)}
      empty={
        <EmptyState
          title="No API keys yet"
          action={
            onCreate && (
              <Button tone="primary" onClick={onCreate}>
                Create a key
              </Button>
            )
          }
        >
          Agents call tools with an API key. Create one per agent and limit what it can spend.
        </EmptyState>
      }
    />
  );
}

function KeyName({ use, now }: { use: KeyWithUse; now: Date }) {
  const { key } = use;
  return (
    <div className="key-name">
      <span className="row">
        <strong>
          <Name name={key?.name === "" ? "unnamed" : (key?.name ?? "")} />
        </strong>
        <KeyStatus use={use} now={now} />
      </span>
      {key?.client ? (
        <span className="hint">{`${key.client.host}${key.client.verified ? "" : ", not verified"}`}</span>
      ) : (
        <code>{key?.prefix}…</code>
      )}
    </div>
  );
}

function KeyStatus({ use, now }: { use: KeyWithUse; now: Date }) {
  switch (keyState(use, now)) {
    case "active":
      return null;
    case "expiring":
      return (
        <Status kind="warn">
          expires <Time at={use.key?.limits?.expiresAt} relative />
        </Status>
      );
    case "expired":
      return <Status kind="off">Expired</Status>;
    case "revoked":
      return <Status kind="off">Revoked</Status>;
  }
}

function Limits({ use, now, groups }: { use: KeyWithUse; now: Date; groups: readonly KeyGroup[] }) {
  const limits = use.key?.limits;
  const lines: ReactNode[] = [];
  const group = groups.find(({ groupId }) => groupId === use.key?.groupId);
  if (group) lines.push(`group ${group.name}`);
  if (limits?.callUsdcMicrousd !== undefined) lines.push(`${formatUsd(limits.callUsdcMicrousd)} per call`);
  if (limits && limits.tools.length > 0)
    lines.push(<span title={limits.tools.join("\n")}>{toolsText(limits.tools)}</span>);
  // A near or past expiry is shown beside the name instead.
  if (limits?.expiresAt && keyState(use, now) === "active") {
    lines.push(
      <>
        expires <Time at={limits.expiresAt} relative />
      </>,
    );
  }
  if (lines.length === 0) return <span className="faint none">—</span>;
  return (
    <ul className="lines">
      {lines.map((line, index) => (
        <li key={index}>{line}</li>
      ))}
    </ul>
  );
}

function toolsText(tools: readonly string[]): string {
  return tools.length > 2 ? pluralize(tools.length, "tool") : `only ${tools.join(", ")}`;
}

/** The budgets of a key, and those of its group that have a limit: either refuses its calls. */
function KeyBudgets({
  use,
  now,
  groups,
}: Pick<Parameters<typeof KeyTable>[0], "now" | "groups"> & { use: KeyWithUse }) {
  const group = groups.find(({ groupId }) => groupId === use.key?.groupId);
  const own = use.key?.budgets ?? [];
  const shared = group?.budgets.filter(({ limitUsdcMicrousd }) => limitUsdcMicrousd !== undefined) ?? [];
  if (!isKeyActive(use, now)) return <span className="faint none">—</span>;
  if (own.length + shared.length === 0) return <span className="faint">No limit</span>;
  return (
    <div className="budgets">
      {own.length > 0 && <Budgets uses={own} />}
      {group && shared.length > 0 && (
        <>
          <p className="hint">
            Group <Name name={group.name} />
          </p>
          <Budgets uses={shared} />
        </>
      )}
    </div>
  );
}

function Spent({ use: { key, spentUsdcMicrousd, chargedCalls } }: { use: KeyWithUse }) {
  return (
    <div className="today">
      <Money microUsd={spentUsdcMicrousd} />
      <Link className="hint" href={`/activity?key=${key?.keyId ?? ""}`}>
        {pluralize(chargedCalls, "call")}
      </Link>
    </div>
  );
}

function Actions({ use, onEdit, onRotate, onRevoke }: { use: KeyWithUse } & Omit<KeyActions, "onCreate">) {
  const name = use.key?.name ?? "";
  const hint = useBlockedHint();
  const blocked = { disabled: hint !== undefined, title: hint };
  return (
    <div className="actions">
      <RowButton label="Edit" row={name} {...blocked} onClick={() => onEdit(use)} />
      {!use.key?.client && <RowButton label="Rotate" row={name} {...blocked} onClick={() => onRotate(use)} />}
      <RowButton label="Revoke" row={name} onClick={() => onRevoke(use)} />
    </div>
  );
}
