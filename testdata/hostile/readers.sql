-- want: refused: :rw
INSERT INTO orders VALUES (9, 'x', 1)
-- want: refused: :rw
insert into orders (id) select 9
-- want: refused: :rw
INSERT INTO spice.public.orders BY NAME SELECT 9 AS id
-- want: refused: :rw
INSERT INTO orders (id) SELECT i + 100 FROM k
-- want: refused: :rw
UPDATE orders SET name = 'x'
-- want: refused: :rw
update orders set name = upper(name) where id = 1
-- want: refused: :rw
UPDATE orders o SET price = twice(o.price)
-- want: refused: :rw
DELETE FROM orders
-- want: refused: :rw
DELETE FROM orders WHERE id = 1
-- want: refused: :rw
DELETE FROM public.orders AS o WHERE o.id IN (SELECT id FROM stock)
-- want: refused: :rw
/* x */ DELETE FROM orders -- x
-- want: refused: :rw
DELETE FROM orders;
