interface SqlIndex {
  readonly name: string;
  readonly expression: string;
}

/** An index of a definition that MikroORM cannot express. */
export const sqlIndex = (name: string, definition: string): SqlIndex => ({
  name,
  expression: `create index ${name} ${definition}`,
});

export const sqlUnique = (name: string, definition: string): SqlIndex => ({
  name,
  expression: `create unique index ${name} ${definition}`,
});
