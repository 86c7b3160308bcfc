import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { AccountService, type Account } from "#gen/toolgate/v1/account_service_pb.ts";
import { Button, Dialog, ErrorNote, Field, Input, tell } from "../../ui/index.ts";
import { refreshAccounts } from "./refresh-account.ts";

/** Asks for an account's rate limit. */
export function TierDialog({ account, onClose }: { account: Account; onClose: () => void }) {
  const [rate, setRate] = useState(String(account.ratePerMinute));
  const [burst, setBurst] = useState(String(account.burst));
  const { mutate, error, isPending } = useMutation(AccountService.method.setTier, { onSuccess: refreshAccounts });
  const faults = { rate: faultOf(rate, 60_000_000), burst: faultOf(burst, 10_000_000) };
  const submit = () => {
    if (faults.rate !== undefined || faults.burst !== undefined) return;
    mutate(
      { accountId: account.accountId, ratePerMinute: Number(rate), burst: Number(burst) },
      {
        onSuccess: () => {
          tell("The rate is set");
          onClose();
        },
      },
    );
  };
  return (
    <Dialog
      open
      title="Set the rate limit"
      onClose={onClose}
      actions={
        <>
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button tone="primary" busy={isPending} onClick={submit}>
            Set
          </Button>
        </>
      }
    >
      <Field label="Requests per minute" hint="Of each of its keys, in the long run" error={faults.rate}>
        {(control) => (
          <Input {...control} inputMode="numeric" value={rate} onChange={({ target }) => setRate(target.value)} />
        )}
      </Field>
      <Field label="At once" hint="Of each of its keys" error={faults.burst}>
        {(control) => (
          <Input {...control} inputMode="numeric" value={burst} onChange={({ target }) => setBurst(target.value)} />
        )}
      </Field>
      <ErrorNote error={error} />
    </Dialog>
  );
}

function faultOf(text: string, most: number): string | undefined {
  const number = /^\d{1,9}$/.test(text.trim()) ? Number(text) : 0;
  return number >= 1 && number <= most ? undefined : `Enter a whole number from 1 to ${most}`;
}
