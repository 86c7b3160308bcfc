import { useMutation } from "@connectrpc/connect-query";
import { useState, type MouseEvent } from "react";
import { AccountService, type Account } from "#gen/toolgate/v1/account_service_pb.ts";
import { Button, Dialog, ErrorNote, Field, focusInvalidField, Input, showToast } from "../../ui/index.ts";
import { refreshAccounts } from "./refresh-account.ts";

const FIELDS = [
  {
    name: "rate",
    label: "Requests per minute",
    hint: "Sustained, per key",
    most: 60_000_000,
  },
  { name: "burst", label: "Burst", hint: "Per key", most: 10_000_000 },
  {
    name: "accountRate",
    label: "Requests per minute, all keys",
    hint: "Sustained, for the account",
    most: 60_000_000,
  },
  { name: "accountBurst", label: "Burst, all keys", hint: "For the account", most: 10_000_000 },
] as const;

/** Sets the rate limits of an account. */
export function TierDialog({ account, onClose }: { account: Account; onClose: () => void }) {
  const [limits, setLimits] = useState({
    rate: String(account.ratePerMinute),
    burst: String(account.burst),
    accountRate: String(account.accountRatePerMinute),
    accountBurst: String(account.accountBurst),
  });
  const { mutate, reset, error, isPending } = useMutation(AccountService.method.setTier, {
    onSuccess: refreshAccounts,
  });
  const submit = (event: MouseEvent) => {
    focusInvalidField(event.currentTarget);
    if (FIELDS.some(({ name, most }) => rangeError(limits[name], most) !== undefined)) return;
    const [accountRate, accountBurst] = [Number(limits.accountRate), Number(limits.accountBurst)];
    mutate(
      {
        accountId: account.accountId,
        ratePerMinute: Number(limits.rate),
        burst: Number(limits.burst),
        // Unchanged account limits keep following the limits per key.
        ...(accountRate !== account.accountRatePerMinute && { accountRatePerMinute: accountRate }),
        ...(accountBurst !== account.accountBurst && { accountBurst }),
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
    <Dialog
      open
      title="Set rate limits"
      onClose={onClose}
      actions={
        <>
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button tone="primary" busy={isPending} onClick={submit}>
            Save
          </Button>
        </>
      }
    >
      {FIELDS.map(({ name, label, hint, most }) => (
        <Field key={name} label={label} hint={hint} error={rangeError(limits[name], most)}>
          {(control) => (
            <Input
              {...control}
              inputMode="numeric"
              value={limits[name]}
              onChange={({ target }) => {
                setLimits({ ...limits, [name]: target.value });
                reset();
              }}
            />
          )}
        </Field>
      ))}
      <ErrorNote error={error} />
    </Dialog>
  );
}

function rangeError(text: string, most: number): string | undefined {
  const number = /^\d{1,9}$/.test(text.trim()) ? Number(text) : 0;
  return number >= 1 && number <= most ? undefined : `Enter a whole number from 1 to ${most}`;
}
