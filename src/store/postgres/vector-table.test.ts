import { afterAll, expect, test } from 'vitest';
import { emptyDatabase, query } from './database.contract.ts';
import { openPostgres } from './open-postgres.ts';

const scope = { space: 's', owner: 'ada', model: 'm' };

afterAll(async () => {
  await query(await emptyDatabase(), 'DROP SCHEMA IF EXISTS "Extra types" CASCADE');
});

/** A type with the name, the cast and the operator of pgvector's, which counts its use. */
const standIn = `
  CREATE SCHEMA "Extra types";
  SET search_path = "Extra types";
  CREATE SEQUENCE uses;
  CREATE TYPE vector AS (items real[]);
  CREATE FUNCTION to_vector(real[]) RETURNS vector LANGUAGE sql AS 'SELECT row($1)::"Extra types".vector';
  CREATE CAST (real[] AS vector) WITH FUNCTION to_vector(real[]);
  CREATE FUNCTION negative_product(one vector, other vector) RETURNS double precision LANGUAGE sql AS $$
    SELECT nextval('"Extra types".uses') * 0 - (SELECT sum(a * b)
      FROM unnest((one).items, (other).items) AS pair (a, b))
  $$;
  CREATE OPERATOR <#> (LEFTARG = vector, RIGHTARG = vector, FUNCTION = negative_product)`;

test('an installed pgvector compares the vectors, in whichever schema it is', async () => {
  const url = await emptyDatabase();
  await query(url, standIn);
  const store = await openPostgres({ url });
  try {
    const vectors = [
      { key: 'near', vector: Float32Array.of(1, 0.1) },
      { key: 'far', vector: Float32Array.of(0, 1) },
      { key: 'long', vector: Float32Array.of(1, 1, 1) },
    ];
    await store.vectors.write(scope, vectors);
    const found = await store.vectors.nearest(scope, Float32Array.of(2, 0), 5);
    expect(found.map(({ key }) => key)).toEqual(['near', 'far']);
    expect(found[0]?.similarity).toBeCloseTo(0.995, 3);
    const [uses] = await query<{ last_value: string }>(
      url,
      'SELECT last_value FROM "Extra types".uses',
    );
    expect(Number(uses?.last_value)).toBe(2);
  } finally {
    await store.close();
  }
});
