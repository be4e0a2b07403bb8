SELECT c.*, u.privilege_type, a.attribute_name FROM information_schema.collations c
	LEFT JOIN information_schema.usage_privileges u ON u.object_name = collation_name LEFT JOIN information_schema.attributes a ON a.collation_name = c.collation_name
ORDER BY c.collation_name
