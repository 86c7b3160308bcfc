import { useMutation } from "@connectrpc/connect-query";
import { useState, type MouseEvent } from "react";
import { AccountService, type Account } from "#gen/toolgate/v1/account_service_pb.ts";
import { Button, Dialog, ErrorNote, Field, focusInvalidField, Input, showToast } from "../../ui/index.ts";
import { refreshAccounts } from "./refresh-account.ts";

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

/** Sets the tier and the rate limits of an account. */
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
        tier,
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
      <Field label="Tier" hint="Named in the configuration">
        {(control) => (
          <Input
            {...control}
            value={tier}
            onChange={({ target }) => {
              setTier(target.value);
              reset();
            }}
          />
        )}
      </Field>
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
  const number = /^\d{1,9}$/.test(text.trim()) ? Number(text) : -1;
  return number >= 0 && number <= most ? undefined : `Enter a whole number from 0 to ${most}`;
}
