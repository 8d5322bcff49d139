/** Memoizes a function of an object; the result is garbage-collected with the object. */
export function oncePer<Key extends object, T>(make: (key: Key) => T): (key: Key) => T {
  const made = new WeakMap<Key, { readonly value: T }>();
  return (key) => {
    let entry = made.get(key);
    if (entry === undefined) made.set(key, (entry = { value: make(key) }));
    return entry.value;
  };
}
