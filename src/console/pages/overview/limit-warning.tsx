import type { KeyWithUse } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { BudgetLevel, type KeyGroup } from "#gen/toolgate/v1/budget_pb.ts";
import { ButtonLink, Note, Time } from "../../ui/index.ts";
import { isKeyActive } from "../keys/key-state.ts";

interface WarningProps {
  readonly keys: readonly KeyWithUse[];
  readonly groups: readonly KeyGroup[];
  readonly now: Date;
}

/** Names the keys and groups whose limit is reached: their paid calls are refused. */
export function LimitWarning({ keys, groups, now }: WarningProps) {
  const active = keys.flatMap((use) => (use.key && isKeyActive(use, now) ? use.key : []));
  const reached = [
    ...active.map(({ name, budgets }) => ({ who: `the key “${name}”`, budgets })),
    ...groups
      .filter(({ keyIds }) => active.some(({ keyId }) => keyIds.includes(keyId)))
      .map(({ name, budgets }) => ({ who: `the keys of the group “${name}”`, budgets })),
  ].flatMap(({ who, budgets }) => {
    // The longest period is the last.
    const full = budgets.findLast(({ reached }) => reached === BudgetLevel.LIMIT);
    return full ? { who, until: full.resetsAt } : [];
  });
  if (reached.length === 0) return null;
  return (
    <Note
      tone="warn"
      title="A limit is reached"
      action={
        <ButtonLink href="/keys" small>
          Keys
        </ButtonLink>
      }
    >
      {reached.map(({ who, until }) => (
        <p key={who}>
          Paid calls of {who} are refused until <Time at={until} none="you raise the limit" />.
        </p>
      ))}
    </Note>
  );
}
