import { useMutation } from "@connectrpc/connect-query";
import { useState, type MouseEvent } from "react";
import { AccountService, type Account } from "#gen/toolgate/v1/account_service_pb.ts";
import { focusInvalidField, showToast, TextField, ActionDialog } from "../../ui/index.ts";
import { refreshAccounts } from "../refresh-account.ts";

const FIELDS = [
  {
    name: "ratePerMinute",
    label: "Requests per minute",
    hint: "Sustained, per key; 0: as the tier",
    most: 60_000_000,
  },
  { name: "burst", label: "Burst", hint: "Per key; 0: as the tier", most: 10_000_000 },
  {
    name: "accountRatePerMinute",
    label: "Requests per minute, all keys",
    hint: "Sustained, for the account; 0: as the tier",
    most: 60_000_000,
  },
  {
    name: "accountBurst",
    label: "Burst, all keys",
    hint: "For the account; 0: as the tier",
    most: 10_000_000,
  },
] as const;

export function TierDialog({ account, onClose }: { account: Account; onClose: () => void }) {
  const [tier, setTier] = useState(account.tier);
  const [limits, setLimits] = useState({
    ratePerMinute: String(account.ratePerMinute),
    burst: String(account.burst),
    accountRatePerMinute: String(account.accountRatePerMinute),
    accountBurst: String(account.accountBurst),
  });
  const { mutate, reset, error, isPending } = useMutation(AccountService.method.setTier, {
    onSuccess: refreshAccounts,
  });
  const submit = (event: MouseEvent) => {
    focusInvalidField(event.currentTarget);
    if (FIELDS.some(({ name, most }) => rangeError(limits[name], most) !== undefined)) return;
    // Unchanged limits keep following the tier.
    const changed = FIELDS.filter(({ name }) => Number(limits[name]) !== account[name]);
    mutate(
      {
        accountId: account.accountId,
        ...((tier !== account.tier || changed.length === 0) && { tier }),
        ...Object.fromEntries(changed.map(({ name }) => [name, Number(limits[name])])),
      },
      {
        onSuccess: () => {
          showToast("Rate limits saved");
          onClose();
        },
      },
    );
  };
  return (
    <ActionDialog
      title="Set rate limits"
      onClose={onClose}
      action="Save"
      busy={isPending}
      error={error}
      onAction={submit}
    >
      <TextField
        label="Tier"
        hint="Named in the configuration"
        value={tier}
        onChange={({ target }) => {
          setTier(target.value);
          reset();
        }}
      />
      {FIELDS.map(({ name, label, hint, most }) => (
        <TextField
          key={name}
          label={label}
          hint={hint}
          error={rangeError(limits[name], most)}
          inputMode="numeric"
          value={limits[name]}
          onChange={({ target }) => {
            setLimits({ ...limits, [name]: target.value });
            reset();
          }}
        />
      ))}
    </ActionDialog>
  );
}

function rangeError(text: string, most: number): string | undefined {
  const number = /^\d{1,9}$/.test(text.trim()) ? Number(text) : -1;
  return number >= 0 && number <= most ? undefined : `Enter a whole number from 0 to ${most}`;
}
